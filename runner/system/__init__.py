"""The files below ``/`` and the notation of the kernel, read the same way everywhere."""
