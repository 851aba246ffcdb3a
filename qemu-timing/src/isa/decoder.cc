#include "isa/decoder.h"

namespace lockcross {

std::unique_ptr<Decoder> make_decoder(const std::string &isa) {
    if (isa == "x86_64")
        return make_x86_decoder();
    if (isa == "ppc64le")
        return make_ppc_decoder();
    if (isa == "aarch64")
        return make_arm_decoder();
    return nullptr;
}

} // namespace lockcross
