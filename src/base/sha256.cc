#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace waybill::base {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  WAYBILL_CHECK(EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1,
                "SHA-256 is missing");
}
Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t size) {
  WAYBILL_CHECK(EVP_DigestUpdate(impl_->context, data, size) == 1, "SHA-256 failed");
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest{};
  WAYBILL_CHECK(EVP_DigestFinal_ex(impl_->context, digest.data(), nullptr) == 1, "SHA-256 failed");
  return digest;
}

Sha256Digest sha256(std::string_view text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  return hash.finish();
}

std::string to_hex(const Sha256Digest& digest) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(digest.size() * 2);
  for (const std::uint8_t byte : digest) {
    text += kHex[byte >> 4];
    text += kHex[byte & 0xf];
  }
  return text;
}

std::string sha256_hex(std::string_view text) { return to_hex(sha256(text)); }

}  // namespace waybill::base
