// mark_speech MODEL SOUND.wav: tells where in a sound file somebody speaks. MODEL is
// silero_vad.onnx of the package silero-vad 6.2.3. The sound has one channel, 16 bits and
// 16000 samples a second, or a multiple. A stretch of speech is printed in seconds and in
// samples.
#include <layline/layline.h>
#include <layline/session.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr int kRate = 16000;
constexpr int kFrame = 512;   // samples of a frame
constexpr int kContext = 64;  // samples before it, which the network sees too
constexpr int kPad = 480;     // samples that are added on both sides of a stretch

struct Stretch {
  int begin;
  int end;
};

template <typename T>
T number_at(const std::string& bytes, size_t place) {
  T number;
  if (place + sizeof number > bytes.size()) throw layline::Error("the sound file is cut short");
  std::memcpy(&number, &bytes[place], sizeof number);
  return number;
}

/// The samples of a WAV file from -1 to 1, at the rate of the network.
std::vector<float> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!bytes.starts_with("RIFF")) throw layline::Error(path + " is no WAV file");
  int step = 0;
  // Chunks follow each other: a name, a size, and as many bytes, filled up to an even number.
  for (size_t at = 12;;) {
    const std::string name = bytes.substr(std::min(at, bytes.size()), 4);
    const auto size = number_at<uint32_t>(bytes, at + 4);
    at += 8;
    if (name == "fmt ") {
      const auto rate = number_at<uint32_t>(bytes, at + 4);
      if (number_at<uint16_t>(bytes, at) == 1 && number_at<uint16_t>(bytes, at + 2) == 1 &&
          number_at<uint16_t>(bytes, at + 14) == 16 && rate % kRate == 0)
        step = static_cast<int>(rate / kRate);
    }
    if (name == "data") {
      if (step == 0)
        throw layline::Error("the sound must have one channel, 16 bits and 16000 samples a second");
      std::vector<float> samples;
      for (size_t i = at; i + 1 < std::min(at + size, bytes.size()); i += 2 * step)
        samples.push_back(number_at<int16_t>(bytes, i) / 32768.0F);
      return samples;
    }
    at += size + size % 2;
  }
}

/// How likely speech is in each frame. What the network remembers goes from one run to the next.
std::vector<float> listen(layline::Session& session, const std::vector<float>& samples) {
  std::vector<float> padded(kContext + (samples.size() + kFrame - 1) / kFrame * kFrame);
  std::copy(samples.begin(), samples.end(), padded.begin() + kContext);
  layline::Array state{"f32", {2, 1, 128}, std::vector<std::byte>(2 * 128 * sizeof(float))};
  std::vector<float> probabilities;
  for (size_t begin = 0; begin < samples.size(); begin += kFrame) {
    const std::span<const float> frame(&padded[begin], kContext + kFrame);
    std::vector<layline::Array> outputs =
        session.run({{"f32", {1, kContext + kFrame}, std::as_bytes(frame)}, state});
    std::memcpy(&probabilities.emplace_back(), outputs[0].bytes.data(), sizeof(float));
    state = std::move(outputs[1]);
  }
  return probabilities;
}

/// Stretches of speech, with some sound around them. Speech begins at 0.5, and ends where it stays
/// below 0.35 for 100 ms; what is not longer than 250 ms is left out.
std::vector<Stretch> stretches(const std::vector<float>& probabilities, int length) {
  std::vector<Stretch> found;
  std::optional<int> begin;
  std::optional<int> end;
  const auto add = [&](int last) {
    if (last - *begin > kRate / 4)
      found.push_back({std::max(*begin - kPad, 0), std::min(last + kPad, length)});
    begin = end = std::nullopt;
  };
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const int at = static_cast<int>(i) * kFrame;
    if (probabilities[i] >= 0.5) {
      begin = begin.value_or(at);
      end = std::nullopt;
    } else if (probabilities[i] < 0.35 && begin) {
      end = end.value_or(at);
      if (at - *end >= kRate / 10) add(*end);
    }
  }
  if (begin) add(length);
  return found;
}

void mark_speech(const std::string& model, const std::string& sound) {
  const std::vector<float> samples = read(sound);
  const int length = static_cast<int>(samples.size());
  // The sizes have no names in the model: they are called by their input and their axis.
  const layline::CompiledModel program = layline::compile_model(
      model,
      {.dims = {{"input.0", "1"}, {"input.1", std::to_string(kContext + kFrame)}, {"state.1", "1"}},
       .fix = {{"sr", std::to_string(kRate)}}});
  layline::Session session = layline::Session::from_bytes(program.bytes(), model);
  for (const Stretch& stretch : stretches(listen(session, samples), length))
    std::printf("%.3f s to %.3f s, samples %d to %d\n", stretch.begin / double{kRate},
                stretch.end / double{kRate}, stretch.begin, stretch.end);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: mark_speech MODEL SOUND.wav\n");
    return 1;
  }
  try {
    mark_speech(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mark_speech: %s\n", error.what());
    return 1;
  }
}
