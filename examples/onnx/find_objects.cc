// find_objects MODEL PICTURE OUT.png: finds objects in a picture and draws boxes around them. MODEL
// is 320n.onnx of the package nudenet 3.4.2, a YOLO network that knows faces and other parts of
// people. An object is printed as its class, its score, and its box: left, top, width, height.
#include <layline/layline.h>
#include <layline/session.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <span>
#include <string>
#include <vector>

#define STB_IMAGE_IMPLEMENTATION
#include <stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

namespace {

constexpr int kSide = 320;  // of the square that the network sees
constexpr const char* kClasses[] = {"FEMALE_GENITALIA_COVERED",
                                    "FACE_FEMALE",
                                    "BUTTOCKS_EXPOSED",
                                    "FEMALE_BREAST_EXPOSED",
                                    "FEMALE_GENITALIA_EXPOSED",
                                    "MALE_BREAST_EXPOSED",
                                    "ANUS_EXPOSED",
                                    "FEET_EXPOSED",
                                    "BELLY_COVERED",
                                    "FEET_COVERED",
                                    "ARMPITS_COVERED",
                                    "ARMPITS_EXPOSED",
                                    "FACE_MALE",
                                    "BELLY_EXPOSED",
                                    "MALE_GENITALIA_EXPOSED",
                                    "ANUS_COVERED",
                                    "FEMALE_BREAST_COVERED",
                                    "BUTTOCKS_COVERED"};

struct Object {
  const char* name;
  float score;
  cv::Rect2f box;
};

/// The picture as rows of red, green and blue.
cv::Mat read(const std::string& path) {
  int width = 0;
  int height = 0;
  unsigned char* pixels = stbi_load(path.c_str(), &width, &height, nullptr, 3);
  if (pixels == nullptr) throw layline::Error(path + ": " + stbi_failure_reason());
  const cv::Mat picture = cv::Mat(height, width, CV_8UC3, pixels).clone();
  stbi_image_free(pixels);
  return picture;
}

/// The picture in the top left of a black square, scaled, as blue, green, red planes from 0 to 1.
std::vector<float> square(const cv::Mat& picture) {
  const int side = std::max(picture.rows, picture.cols);
  cv::Mat scaled;
  cv::copyMakeBorder(picture, scaled, 0, side - picture.rows, 0, side - picture.cols,
                     cv::BORDER_CONSTANT);
  cv::resize(scaled, scaled, {kSide, kSide});
  std::vector<float> planes;
  for (const int colour : {2, 1, 0})
    for (int i = 0; i < kSide * kSide; ++i)
      planes.push_back(scaled.at<cv::Vec3b>(i)[colour] * (1 / 255.0F));
  return planes;
}

/// What two boxes share, relative to what they cover together.
double overlap(const cv::Rect2d& a, const cv::Rect2d& b) {
  const double shared = (a & b).area();
  return shared == 0 ? 0 : shared / (a.area() + b.area() - shared);
}

/// What the network is sure of. Its rows are the middles and the sizes of boxes, and a row of
/// scores for each class. Of boxes that overlap, only the one with the best score is kept.
std::vector<Object> find(const layline::Array& output, cv::Size size) {
  const auto rows = static_cast<size_t>(output.shape[1]);
  const auto columns = static_cast<size_t>(output.shape[2]);
  std::vector<float> values(rows * columns);
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  const float side = static_cast<float>(std::max(size.width, size.height));
  std::vector<Object> candidates;
  for (size_t i = 0; i < columns; ++i) {
    const auto at = [&](size_t row) { return values[row * columns + i]; };
    size_t best = 4;
    for (size_t row = 5; row < rows; ++row)
      if (at(row) > at(best)) best = row;
    if (at(best) <= 0.25F) continue;
    const float left =
        std::clamp((at(0) - at(2) / 2) * side / kSide, 0.0F, static_cast<float>(size.width));
    const float top =
        std::clamp((at(1) - at(3) / 2) * side / kSide, 0.0F, static_cast<float>(size.height));
    const float width = std::min(at(2) * side / kSide, size.width - left);
    const float height = std::min(at(3) * side / kSide, size.height - top);
    candidates.push_back({kClasses[best - 4], at(best), {left, top, width, height}});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Object& a, const Object& b) { return a.score > b.score; });
  std::vector<Object> found;
  for (const Object& object : candidates)
    if (std::all_of(found.begin(), found.end(),
                    [&](const Object& other) { return overlap(object.box, other.box) <= 0.45; }))
      found.push_back(object);
  return found;
}

void find_objects(const std::string& model, const std::string& path, const std::string& out) {
  cv::Mat picture = read(path);
  const std::string side = std::to_string(kSide);
  const layline::CompiledModel program =
      layline::compile_model(model, {.dims = {{"batch", "1"}, {"height", side}, {"width", side}}});
  layline::Session session = layline::Session::from_bytes(program.bytes(), model);
  const std::vector<float> input = square(picture);
  const std::vector<layline::Array> outputs =
      session.run({{"f32", {1, 3, kSide, kSide}, std::as_bytes(std::span(input))}});
  for (const Object& object : find(outputs.at(0), picture.size())) {
    const cv::Rect box(static_cast<int>(object.box.x), static_cast<int>(object.box.y),
                       static_cast<int>(object.box.width), static_cast<int>(object.box.height));
    std::printf("%s %.3f %d %d %d %d\n", object.name, object.score, box.x, box.y, box.width,
                box.height);
    cv::rectangle(picture, box, {255, 0, 0}, 2);
  }
  if (stbi_write_png(out.c_str(), picture.cols, picture.rows, 3, picture.data, 0) == 0)
    throw layline::Error("cannot write " + out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: find_objects MODEL PICTURE OUT.png\n");
    return 1;
  }
  try {
    find_objects(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "find_objects: %s\n", error.what());
    return 1;
  }
}
