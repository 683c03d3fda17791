# Filter a photograph several times by one process of a program: filter.sh imagemagick|libvips TIMES KEPT
# The C library returns free memory above KEPT bytes to the kernel, and maps blocks above that size.
set -e
export MALLOC_MMAP_THRESHOLD_="$3" MALLOC_TRIM_THRESHOLD_="$3"
start=$(date +%s%N)
if [ "$1" = imagemagick ]; then
    mkdir -p photos small
    for number in $(seq "$2"); do ln -sf ../photo.ppm "photos/$number.ppm"; done
    /usr/bin/mogrify -path small -blur 0x2 -unsharp 0x1 -resize 50% photos/*.ppm
else
    ./rows "$2"
fi
echo "{\"operations\": $2, \"seconds\": $(($(date +%s%N) - start))e-9}"
