#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

extern "C" long work(long steps);

int main()
{
    std::map<std::string, std::vector<long>> groups;
    for (long i = 0; i < 2000; i++)
        groups[std::to_string(i * 7919 % 1000)].push_back(i);
    std::regex digits("([0-9]+)-([0-9]+)");
    std::smatch match;
    std::string text = "12-345";
    std::cout << std::regex_match(text, match, digits) << ' ' << groups.size() << ' ' << work(60) << '\n';
}
