// For compilers without libFuzzer: gives a target every file of the folders named. Arguments that
// begin with '-' are libFuzzer's and mean nothing here.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      std::cout << entry.path().filename() << ", " << bytes.size() << " bytes" << std::endl;
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++files;
    }
  }
  if (files > 0) return 0;
  std::cerr << "no files to replay: name the folder of a corpus\n";
  return 1;
}
