#include <string>

#include "snappy.h"

int main(int, char **words) {
    std::string text;
    for (int line = 0; text.size() < 8u << 20; line++)
        text += "line " + std::to_string(line) + ": " + std::to_string(line * 7919L % 1000) + "\n";
    const size_t piece = words[1] == std::string("whole") ? text.size() : 100000;
    for (size_t at = 0; at < text.size(); at += piece) {
        std::string packed, back;
        snappy::Compress(text.data() + at, std::min(piece, text.size() - at), &packed);
        if (!snappy::Uncompress(packed.data(), packed.size(), &back)) return 1;
        if (text.compare(at, piece, back) != 0) return 1;
    }
}
