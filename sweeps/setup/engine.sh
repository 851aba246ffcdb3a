# What is built of the tree itself: the plugin of the embedded engine, and what starts runs.

engine_folder() { echo "$work/build/qemu-timing"; }

engine_state() {
    (cd "$root/qemu-timing" && find Makefile src -type f -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum &&
        g++ -dumpfullversion) | sha256sum
}

engine_ready() {
    [[ -e $(engine_folder)/liblockcross-timing.so && -e $work/build/engine.stamp ]] &&
        [[ "$(engine_state)" == "$(<"$work/build/engine.stamp")" ]]
}

make_engine() {
    local state folder
    state="$(engine_state)" folder="$(engine_folder)"
    rm -f "$work/build/engine.stamp"
    mkdir -p "$folder"
    # make knows no names with spaces: it runs where everything has a short one.
    ln -sfn "$root/qemu-timing/src" "$folder/src"
    ln -sfn "$root/qemu-timing/tests" "$folder/tests"
    quietly "the engine plugin could not be built" \
        make -C "$folder" -f "$root/qemu-timing/Makefile" BUILD=. -j "$(nproc)" all
    echo "$state" >"$work/build/engine.stamp"
}

starter_state() { sha256sum <"$root/sweeps/run/start.c"; }

starter_ready() {
    [[ -x $work/build/start && -e $work/build/start.stamp ]] &&
        [[ "$(starter_state)" == "$(<"$work/build/start.stamp")" ]]
}

make_starter() {
    rm -f "$work/build/start.stamp"
    # Without shared libraries to load it starts faster, if static ones are installed.
    quietly "the program that starts runs could not be compiled" compile_starter
    starter_state >"$work/build/start.stamp"
}

compile_starter() {
    local source="$root/sweeps/run/start.c" made="$work/build/start"
    { gcc -O2 -Wall -Wextra -static -o "$made.new" "$source" ||
        gcc -O2 -Wall -Wextra -o "$made.new" "$source"; } && mv "$made.new" "$made"
}
