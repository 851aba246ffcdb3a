#include "core_models/make_core.h"

#include "core_models/out_of_order/out_of_order_core.h"
#include "core_models/pipelined/pipelined_core.h"
#include "core_models/scheduled/scheduled_core.h"

namespace lockcross {

std::unique_ptr<Core> make_core(const Options &options, uint32_t id, Memory &memory,
                                Counts &counts) {
    if (options.out_of_order)
        return std::make_unique<OutOfOrderCore>(options, id, memory, counts);
    if (options.pipeline)
        return std::make_unique<PipelinedCore>(options, id, memory, counts);
    return std::make_unique<ScheduledCore>(options, id, memory, counts);
}

} // namespace lockcross
