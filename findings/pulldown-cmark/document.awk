# Writes a long document in Markdown: headings, paragraphs with emphasis, code and links, nested lists, tables, notes.
function word() {
    seed = (seed * 16807) % 2147483647
    return words[int(seed / 1024) % 12 + 1]
}

function sentence(count, text) {
    for (text = word(); count > 1; count--) text = text " " word()
    return text
}

BEGIN {
    split("river stone window paper garden letter morning table story winter engine number", words, " ")
    seed = 1
    for (part = 1; part <= 1500; part++) {
        print "## " sentence(4) "\n"
        print sentence(20) " *" sentence(2) "* " sentence(10) " **" word() "** `" word() "()` and"
        print "[" sentence(2) "](https://example.org/" part " \"" word() "\") " sentence(12) ".[^" part "]\n"
        print "- " sentence(6) "\n  1. " sentence(5) "\n  2. " sentence(5) "\n- " sentence(6) "\n"
        print "| " word() " | " word() " |\n|---|--:|\n| " word() " | " part " |\n| ~~" word() "~~ | " part + 1 " |\n"
        print "> " sentence(8) "\n> " sentence(8) " &amp; <" word() "@example.org>\n"
        print "```c\nint " word() " = " part ";\n```\n"
        print "[^" part "]: " sentence(7) ".\n"
    }
}
