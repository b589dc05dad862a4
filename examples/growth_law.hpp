// A growth law of `smfeval calibrate --save law.json`, applied while an odometry runs.
#include <array>
#include <cmath>

struct GrowthLaw {  // the numbers of law.json; rates per metre, radian, second
  int level; double position[3], rotation[3], floor_m2, floor_rad2;
};

class LawCovariance {
 public:
  explicit LawCovariance(const GrowthLaw& law) : law_(law), P_{} {}

  // Row by row, as PoseWithCovariance has it; p in metres, q = x y z w, t in seconds.
  std::array<double, 36> next(const std::array<double, 3>& p, const std::array<double, 4>& q, double t) {
    if (started_) {
      const double d[3] = {p[0] - p_[0], p[1] - p_[1], p[2] - p_[2]};
      double v = 0, w = q_[3] * q[3];
      for (int i = 0, j = 1, k = 2; i < 3; j = k, k = i++) {
        const double x = q_[3] * q[i] - q[3] * q_[i] - (q_[j] * q[k] - q_[k] * q[j]);
        v += x * x;
        w += q_[i] * q[i];
      }
      const double u[3] = {std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]),
                           2 * std::atan2(std::sqrt(v), std::fabs(w)), t - t_};
      const double L[3][3] = {{0, d[2], -d[1]}, {-d[2], 0, d[0]}, {d[1], -d[0], 0}};
      for (int n = 0; n < 108; ++n) {  // L P L^T: first the rows, then the columns
        const int i = n / 3 % 3, k = n % 3, c = n / 9 % 6;
        if (n < 54) P_[6 * i + c] += L[i][k] * P_[6 * (3 + k) + c];
        else P_[6 * c + i] += L[i][k] * P_[6 * c + 3 + k];
      }
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) {
          P_[7 * i] += law_.position[k] * u[k];
          if (law_.level == 6 || (law_.level == 4 && i == 2)) P_[7 * (3 + i)] += law_.rotation[k] * u[k];
        }
    }
    started_ = true; p_ = p; q_ = q; t_ = t;
    std::array<double, 36> S = P_;
    for (int i = 0; i < 6; ++i) S[7 * i] += i < 3 ? law_.floor_m2 : law_.floor_rad2;
    return S;
  }

 private:
  GrowthLaw law_; std::array<double, 36> P_;
  std::array<double, 3> p_{}; std::array<double, 4> q_{}; double t_ = 0; bool started_ = false;
};
