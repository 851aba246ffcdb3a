# The agent that records Java programs, built with the user's JDK and Maven when `record` is first
# called. Nothing else needs Java.

java_folder() { echo "$work/build/java-agent"; }

# A JDK of version 11 or later: its compiler, since a runtime alone builds nothing.
missing_for_java() {
    have javac || echo default-jdk-headless
    have mvn || echo maven
}

java_state() {
    (cd "$root/java-agent" && find pom.xml src/main -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) |
        sha256sum
}

java_ready() {
    [[ -e $(java_folder)/lockcross-agent-1.jar && -e $work/build/java.stamp ]] &&
        [[ "$(java_state)" == "$(<"$work/build/java.stamp")" ]]
}

# A command that records a Java program, unless only its help is wanted: all arguments, of which those
# behind -- are the program's.
wants_java() {
    local one
    [[ ${1:-} == record ]] || return 1
    for one in "$@"; do
        case $one in
            --) return 0 ;;
            --help | -h | --pthread) return 1 ;;
        esac
    done
}

set_up_java() {
    if java_ready; then return; fi
    local missing
    missing="$(missing_for_java)"
    say "first recording: the agent is built from java-agent/ (about 20 s)" \
        "${missing:+with system packages: ${missing//$'\n'/ } (about 60 s)}"
    # shellcheck disable=SC2086  # several packages
    [[ -z $missing ]] || { check_rights $missing && together get_lists && together get_java; }
    together get_java_agent
}

get_java() { step "Java and Maven" install_packages missing_for_java; }

get_java_agent() { step "Java agent" make_java_agent; }

make_java_agent() {
    local folder new
    folder="$(java_folder)" new="$(java_folder).new"
    check_javac
    rm -rf "$new" "$work/build/java.stamp"
    # What the programs to be recorded are given in these variables is not for the build.
    quietly "the Java agent could not be built; check the network and that javac and mvn work" \
        env -u JAVA_TOOL_OPTIONS -u JDK_JAVA_OPTIONS \
        mvn --batch-mode --quiet --file "$root/java-agent/pom.xml" -Dmade="$new" -DskipTests package
    rm -rf "$folder"
    mkdir -p "$folder"
    mv "$new"/lockcross-agent-1.jar "$folder/"
    rm -rf "$new"
    java_state >"$work/build/java.stamp"
}

check_javac() {
    local said version
    said="$(javac -version 2>&1)" || die 2 "javac does not run: $said"
    version="${said#javac }" version="${version#1.}"
    [[ ${version%%[!0-9]*} -ge 11 ]] ||
        die 2 "the agent is compiled by JDK 11 or later, and the javac here is $said;" \
            "put another one first in PATH"
}
