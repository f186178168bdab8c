// read_text MODELS [--together N] PICTURE...: reads the text in pictures: finds lines, turns them
// upright and recognises their letters. MODELS is the folder rapidocr_onnxruntime/models of the
// package rapidocr-onnxruntime 1.4.4. A line is printed as its four corners, its score and its
// text. N lines of about the same length are made equally wide: 6, as in rapidocr, or 1, which
// reads spaces better.
#include <layline/layline.h>
#include <layline/session.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <numbers>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define STB_IMAGE_IMPLEMENTATION
#include <stb_image.h>

namespace {

constexpr int kWidest = 3200;  // of a line that is 48 high

/// The corners of a rectangle, clockwise from the top left.
using Box = std::array<cv::Point2f, 4>;

struct Line {
  Box box;
  float score;
  std::string text;
};

/// The picture as rows of blue, green and red, as the networks want it.
cv::Mat read(const std::string& path) {
  int width = 0;
  int height = 0;
  unsigned char* pixels = stbi_load(path.c_str(), &width, &height, nullptr, 3);
  if (pixels == nullptr) throw layline::Error(path + ": " + stbi_failure_reason());
  cv::Mat picture;
  cv::cvtColor(cv::Mat(height, width, CV_8UC3, pixels), picture, cv::COLOR_RGB2BGR);
  stbi_image_free(pixels);
  return picture;
}

// ---- Networks ----

layline::Session compile(const std::string& model, const std::map<std::string, std::string>& dims) {
  return layline::Session::from_bytes(layline::compile_model(model, {.dims = dims}).bytes(), model);
}

/// Runs a network on a picture, whose colours become planes from -1 to 1, with zeros on the right.
std::vector<float> run(layline::Session& session, const cv::Mat& picture, int width) {
  std::vector<float> planes(3UL * picture.rows * width);
  for (int colour = 0; colour < 3; ++colour)
    for (int y = 0; y < picture.rows; ++y)
      for (int x = 0; x < picture.cols; ++x)
        planes[(colour * picture.rows + y) * width + x] =
            picture.at<cv::Vec3b>(y, x)[colour] / 255.0F * 2 - 1;
  const layline::Array output =
      session.run({{"f32", {1, 3, picture.rows, width}, std::as_bytes(std::span(planes))}}).at(0);
  std::vector<float> values(output.bytes.size() / sizeof(float));
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

/// The fields of a protobuf message that hold bytes, with their numbers.
std::vector<std::pair<uint64_t, std::string_view>> fields(std::string_view message) {
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  std::vector<std::pair<uint64_t, std::string_view>> found;
  while (at < message.size()) {
    const uint64_t tag = varint();
    if (tag % 8 == 0) {
      varint();
    } else if (tag % 8 == 2) {
      const uint64_t size = varint();
      found.emplace_back(tag / 8, message.substr(at, size));
      at += size;
    } else {
      at += tag % 8 == 1 ? 8 : 4;
    }
  }
  return found;
}

/// What the recognition's numbers stand for. The model carries the letters as a property
/// (`metadata_props`), one in each line; before them is the blank, and after them the space.
std::vector<std::string> letters_of(const std::string& model) {
  std::ifstream file(model, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (const auto& [number, property] : fields(bytes)) {
    if (number != 14) continue;
    const auto key_and_value = fields(property);
    if (key_and_value.size() != 2 || key_and_value[0].second != "character") continue;
    std::vector<std::string> letters = {""};
    std::istringstream lines{std::string(key_and_value[1].second)};
    for (std::string line; std::getline(lines, line);) letters.push_back(line);
    letters.emplace_back(" ");
    return letters;
  }
  throw layline::Error(model + " does not tell its letters");
}

// ---- Where the lines are ----

/// The shorter side becomes at least 736, and both a multiple of 32.
cv::Mat scaled_for_detection(const cv::Mat& picture) {
  const double ratio = std::max(736.0 / std::min(picture.rows, picture.cols), 1.0);
  const auto scaled = [&](int side) {
    return static_cast<int>(std::nearbyint(std::trunc(side * ratio) / 32) * 32);
  };
  cv::Mat result;
  cv::resize(picture, result, {scaled(picture.cols), scaled(picture.rows)});
  return result;
}

float distance(cv::Point2f a, cv::Point2f b) { return std::hypot(a.x - b.x, a.y - b.y); }

Box clockwise(Box box) {
  const auto by_x = [](cv::Point2f a, cv::Point2f b) { return a.x < b.x; };
  const auto by_y = [](cv::Point2f a, cv::Point2f b) { return a.y < b.y; };
  std::stable_sort(box.begin(), box.end(), by_x);
  std::stable_sort(box.begin(), box.begin() + 2, by_y);
  std::stable_sort(box.begin() + 2, box.end(), by_y);
  return {box[0], box[2], box[3], box[1]};
}

/// The smallest rectangle around points, and its shorter side.
std::pair<Box, float> smallest_box(const std::vector<cv::Point>& points) {
  const cv::RotatedRect rectangle = cv::minAreaRect(points);
  Box box;
  rectangle.points(box.data());
  return {clockwise(box), std::min(rectangle.size.width, rectangle.size.height)};
}

double mean_inside(const cv::Mat& scores, const Box& box) {
  cv::Mat mask = cv::Mat::zeros(scores.size(), CV_8U);
  std::vector<cv::Point> corners;
  for (const cv::Point2f corner : box)
    corners.emplace_back(static_cast<int>(corner.x), static_cast<int>(corner.y));
  cv::fillPoly(mask, std::vector{corners}, 1);
  return cv::mean(scores, mask)[0];
}

/// Points around a box, as far away as its area and its perimeter say: the network marks the middle
/// of a line. They are on whole pixels, on an arc around each corner.
std::vector<cv::Point> grown(const Box& box) {
  constexpr double kFull = 2 * std::numbers::pi;
  double perimeter = 0;
  std::array<double, 4> away;  // from the side after each corner, as an angle
  for (int i = 0; i < 4; ++i) {
    perimeter += distance(box[i], box[(i + 1) % 4]);
    away[i] = std::atan2(std::trunc(box[i].x) - std::trunc(box[(i + 1) % 4].x),
                         std::trunc(box[(i + 1) % 4].y) - std::trunc(box[i].y));
  }
  const double far = cv::contourArea(std::vector(box.begin(), box.end())) * 1.6 / perimeter;
  const double steps_in_full = kFull / 2 / std::acos(1 - std::min(0.25, far / 4) / far);
  std::vector<cv::Point> points;
  for (int i = 0; i < 4; ++i) {
    const double begin = away[(i + 3) % 4];
    const double turn = std::fmod(away[i] - begin + 2 * kFull, kFull);
    const int steps = std::max(static_cast<int>(std::nearbyint(steps_in_full * turn / kFull)), 1);
    for (int step = 0; step <= steps; ++step) {
      const double angle = step == steps ? away[i] : begin + step * kFull / steps_in_full;
      points.emplace_back(
          static_cast<int>(std::nearbyint(std::trunc(box[i].x) + far * std::cos(angle))),
          static_cast<int>(std::nearbyint(std::trunc(box[i].y) + far * std::sin(angle))));
    }
  }
  return points;
}

/// From top to bottom; what is less than 10 pixels apart, from left to right.
void in_reading_order(std::vector<Box>& boxes) {
  std::stable_sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) {
    return std::pair(a[0].y, a[0].x) < std::pair(b[0].y, b[0].x);
  });
  for (size_t i = 1; i < boxes.size(); ++i)
    for (size_t j = i; j > 0 && std::abs(boxes[j][0].y - boxes[j - 1][0].y) < 10 &&
                       boxes[j][0].x < boxes[j - 1][0].x;
         --j)
      std::swap(boxes[j], boxes[j - 1]);
}

/// Boxes around what the network marks, in pixels of a picture of this size.
std::vector<Box> find_lines(const cv::Mat& scores, cv::Size size) {
  cv::Mat mask = scores > 0.3F;
  cv::dilate(mask, mask, cv::Mat::ones(2, 2, CV_8U));
  std::vector<std::vector<cv::Point>> contours;
  cv::findContours(mask, contours, cv::RETR_LIST, cv::CHAIN_APPROX_SIMPLE);
  contours.resize(std::min<size_t>(contours.size(), 1000));
  std::vector<Box> boxes;
  for (const std::vector<cv::Point>& contour : contours) {
    auto [box, side] = smallest_box(contour);
    if (side < 3 || mean_inside(scores, box) < 0.5) continue;
    std::tie(box, side) = smallest_box(grown(box));
    if (side < 5) continue;
    for (cv::Point2f& corner : box) {
      corner.x =
          std::clamp(std::nearbyint(corner.x / scores.cols * size.width), 0.0F, size.width - 1.0F);
      corner.y = std::clamp(std::nearbyint(corner.y / scores.rows * size.height), 0.0F,
                            size.height - 1.0F);
    }
    box = clockwise(box);
    if (std::min(distance(box[0], box[1]), distance(box[0], box[3])) >= 4) boxes.push_back(box);
  }
  in_reading_order(boxes);
  return boxes;
}

// ---- One line ----

/// The weights of four neighbours for a place between the second and the third.
std::array<double, 4> cubic_weights(double place) {
  const auto near = [](double far) { return (1.25 * far - 2.25) * far * far + 1; };
  const auto second = [](double far) { return ((-0.75 * far + 3.75) * far - 6) * far + 3; };
  return {second(1 + place), near(place), near(1 - place), second(2 - place)};
}

/// The colour at a place between pixels. cv::warpPerspective does the same since OpenCV 5; before,
/// it rounds places to a 32nd of a pixel, which is enough to change what is read.
cv::Vec3b colour_at(const cv::Mat& picture, double x, double y) {
  const std::array<double, 4> across = cubic_weights(x - std::floor(x));
  const std::array<double, 4> down = cubic_weights(y - std::floor(y));
  cv::Vec3d sum;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = std::clamp(static_cast<int>(std::floor(y)) + i - 1, 0, picture.rows - 1);
      const int column = std::clamp(static_cast<int>(std::floor(x)) + j - 1, 0, picture.cols - 1);
      sum += down[i] * across[j] * cv::Vec3d(picture.at<cv::Vec3b>(row, column));
    }
  return sum;
}

/// What is in the box, straight; a tall box lies on its side.
cv::Mat cut_out(const cv::Mat& picture, const Box& box) {
  const auto width = static_cast<int>(std::max(distance(box[0], box[1]), distance(box[2], box[3])));
  const auto height =
      static_cast<int>(std::max(distance(box[0], box[3]), distance(box[1], box[2])));
  const Box corners = {cv::Point2f(0, 0), cv::Point2f(width, 0), cv::Point2f(width, height),
                       cv::Point2f(0, height)};
  const cv::Matx33d places = cv::getPerspectiveTransform(corners.data(), box.data());
  cv::Mat line(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const cv::Vec3d place = places * cv::Vec3d(x, y, 1);
      line.at<cv::Vec3b>(y, x) = colour_at(picture, place[0] / place[2], place[1] / place[2]);
    }
  if (height >= 1.5 * width) cv::rotate(line, line, cv::ROTATE_90_COUNTERCLOCKWISE);
  return line;
}

double ratio(const cv::Mat& line) { return line.cols / static_cast<double>(line.rows); }

/// 48 high, and as wide as it gets but for the widest.
cv::Mat scaled_line(const cv::Mat& line, int widest) {
  cv::Mat result;
  cv::resize(line, result, {std::min(static_cast<int>(std::ceil(48 * ratio(line))), widest), 48});
  return result;
}

/// The letters with the best scores, and their mean: repeated ones and blanks (0) are left out.
std::pair<std::string, float> spell(const std::vector<float>& scores,
                                    const std::vector<std::string>& letters) {
  if (scores.size() % letters.size() != 0)
    throw layline::Error("these are not the model's letters");
  std::string text;
  double sum = 0;
  int count = 0;
  size_t before = 0;
  for (auto row = scores.begin(); row != scores.end(); row += letters.size()) {
    const auto best = std::max_element(row, row + letters.size());
    const auto letter = static_cast<size_t>(best - row);
    if (letter != 0 && letter != before) {
      text += letters[letter];
      sum += *best;
      ++count;
    }
    before = letter;
  }
  return {text, count == 0 ? 0 : static_cast<float>(sum / count)};
}

class Reader {
 public:
  explicit Reader(const std::string& models)
      : models_(models),
        turned_(compile(models + "/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                        {{"x.0", "1"}, {"x.2", "48"}, {"x.3", "192"}})),
        // One program for lines of any length.
        recognise_(compile(models + "/ch_PP-OCRv4_rec_infer.onnx",
                           {{"p2o.DynamicDimension.0", "1"},
                            {"x.2", "48"},
                            {"p2o.DynamicDimension.1", "320.." + std::to_string(kWidest)}})),
        letters_(letters_of(models + "/ch_PP-OCRv4_rec_infer.onnx")) {}

  std::vector<Line> read(const cv::Mat& picture, size_t together) {
    const std::vector<Box> boxes = detect(picture);
    std::vector<cv::Mat> lines;
    for (const Box& box : boxes) lines.push_back(upright(cut_out(picture, box)));
    std::vector<size_t> order(lines.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return ratio(lines[a]) < ratio(lines[b]); });
    std::vector<Line> found(lines.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t last = std::min(i / together * together + together, order.size()) - 1;
      const int width = std::clamp(static_cast<int>(48 * ratio(lines[order[last]])), 320, kWidest);
      const auto [text, score] =
          spell(run(recognise_, scaled_line(lines[order[i]], width), width), letters_);
      found[order[i]] = {boxes[order[i]], score, text};
    }
    std::erase_if(found, [](const Line& line) { return line.score < 0.5; });
    return found;
  }

 private:
  std::vector<Box> detect(const cv::Mat& picture) {
    const cv::Mat scaled = scaled_for_detection(picture);
    // One program for each size of pictures.
    const auto size = std::pair(scaled.rows, scaled.cols);
    auto found = detectors_.find(size);
    if (found == detectors_.end())
      found = detectors_
                  .emplace(size, compile(models_ + "/ch_PP-OCRv4_det_infer.onnx",
                                         {{"p2o.DynamicDimension.0", "1"},
                                          {"p2o.DynamicDimension.1", std::to_string(scaled.rows)},
                                          {"p2o.DynamicDimension.2", std::to_string(scaled.cols)}}))
                  .first;
    std::vector<float> scores = run(found->second, scaled, scaled.cols);
    return find_lines(cv::Mat(scaled.rows, scaled.cols, CV_32F, scores.data()), picture.size());
  }

  cv::Mat upright(cv::Mat line) {
    if (run(turned_, scaled_line(line, 192), 192).at(1) > 0.9F)
      cv::rotate(line, line, cv::ROTATE_180);
    return line;
  }

  std::string models_;
  layline::Session turned_;
  layline::Session recognise_;
  std::vector<std::string> letters_;
  std::map<std::pair<int, int>, layline::Session> detectors_;
};

void read_text(const std::string& models, size_t together, std::span<char*> pictures) {
  Reader reader(models);
  for (const char* path : pictures)
    for (const Line& line : reader.read(read(path), together)) {
      for (const cv::Point2f corner : line.box) std::printf("%.0f,%.0f ", corner.x, corner.y);
      std::printf("%.3f %s\n", line.score, line.text.c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, argc);
  const bool told = argc >= 4 && std::string_view(argv[2]) == "--together";
  const int together = told ? std::atoi(argv[3]) : 6;
  if (argc < (told ? 5 : 3) || together < 1) {
    std::fprintf(stderr, "usage: read_text MODELS [--together N] PICTURE...\n");
    return 1;
  }
  try {
    read_text(argv[1], together, arguments.subspan(told ? 4 : 2));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_text: %s\n", error.what());
    return 1;
  }
}
