"""What Faultwatch finds in the histories of well-known projects: `make findings PROJECT=name` repeats one."""
