# Writes a page and the settings into a folder, and serves it at a port as the user that runs this.
set -e
cd "$1"
seq 1 50000 >page.txt
sed "s/PORT/$2/; s,root \.,root $1," "$3/nginx.conf" >nginx.conf
exec "$4/objs/nginx" -p "$1/" -c nginx.conf -g "user $(id -un) $(id -gn);"
