#include "region/host_threads.h"

#include "region/one_thread.h"
#include "region/own_threads.h"

namespace lockcross {

std::unique_ptr<HostThreads> make_host_threads(uint32_t cores, bool own) {
#if LOCKCROSS_HAS_CONTEXTS
    if (!own && OneThread::possible())
        return std::make_unique<OneThread>(cores);
#endif
    return std::make_unique<OwnThreads>(cores);
}

} // namespace lockcross
