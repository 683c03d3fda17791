#include <string>

#include "tinyxml2.h"

using namespace tinyxml2;

static void build(XMLDocument &document) {
    XMLElement *list = document.NewElement("list");
    document.InsertEndChild(list);
    for (int number = 0; number < 30000; number++) {
        XMLElement *entry = document.NewElement("entry");
        entry->SetAttribute("number", number);
        entry->InsertEndChild(document.NewText("a text & its \"quotes\""));
        list->InsertEndChild(entry);
    }
}

int main(int, char **words) {
    const std::string work = words[1];
    XMLDocument document;
    if (work == "parse") {
        std::string text = "<list>";
        for (int number = 0; number < 60000; number++)
            text += "<entry number='" + std::to_string(number) + "'><name>a &amp; b</name><empty/></entry>\n";
        text += "</list>";
        for (int round = 0; round < 3; round++)
            if (document.Parse(text.c_str()) != 0) return 1;
        return 0;
    }
    build(document);
    if (work == "print") {
        XMLPrinter printer;
        document.Accept(&printer);
        return printer.CStr()[0] != '<';
    }
    return 0;
}
