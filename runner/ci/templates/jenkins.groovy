// Compares each change with its merge base: page faults, to the fault. Written by `faultwatch init`.
pipeline {
    agent { label 'faultwatch' }
    options {
        timeout(time: 1, unit: 'HOURS')
    }
    stages {
        stage('faultwatch') {
            when { changeRequest() }
            steps {
                sh '''
                    if [ "$(git rev-parse --is-shallow-repository)" = true ]; then git fetch --unshallow origin; fi
                    git fetch --no-tags origin "+refs/heads/$CHANGE_TARGET:refs/remotes/origin/$CHANGE_TARGET"
                    # @SUBMODULES@
                    # The submodules of base, from where base has them: head must not name what is fetched here.
                    head=$(git rev-parse HEAD)
                    git checkout --quiet --force "origin/$CHANGE_TARGET"
                    git submodule update --init --recursive
                    git checkout --quiet --force "$head"
                    # @END@
                    rm -rf faultwatch-gate.json faultwatch-junit.xml # what head may have of these names
                    # Folders outside of /usr that the build reads. `faultwatch measure` on the agent fills them.
                    export FAULTWATCH_SANDBOX_READ=@READ@
                    faultwatch gate --repo . --output faultwatch-gate.json \
                        --junit faultwatch-junit.xml -- @WORKLOAD@ "origin/$CHANGE_TARGET..HEAD"
                '''
            }
            post {
                always {
                    junit testResults: 'faultwatch-junit.xml', allowEmptyResults: true
                    archiveArtifacts artifacts: 'faultwatch-gate.json', allowEmptyArchive: true, followSymlinks: false
                }
            }
        }
    }
}
