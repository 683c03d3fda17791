# Downloads the jars of one version of embedded Tomcat into this folder.
set -e
for name in tomcat-embed-core tomcat-annotations-api; do
    mvn -q dependency:copy -Dartifact="org.apache.tomcat$([ $name = tomcat-embed-core ] && echo .embed):$name:$1" \
        -DoutputDirectory=. >&2
done
