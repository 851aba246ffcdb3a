#include "core/block.h"

#include <utility>

namespace lockcross {

BlockBuilder::BlockBuilder(const Options &options, uint64_t pc, const char *function)
    : options_(options), scheduler_(options), block_(std::make_unique<Block>()) {
    block_->pc = pc;
    block_->function = function;
}

TimedInsn *BlockBuilder::add(const Insn &insn, uint64_t address, uint32_t size) {
    uint32_t cycle = scheduler_.place(insn, address, size);
    size_t first_op = block_->ops.size();
    if (options_.pipeline || options_.out_of_order)
        append_micro_ops(insn, address, size, options_, block_->ops);
    block_->instructions++;
    block_->fallthrough = address + size;
    block_->branch = insn.branch;
    block_->branch_pc = address;
    // gem5 marks only the last micro-operation of a branch as one, so Minor predicts none.
    block_->unpredicted = options_.micro_operations && insn.micro_ops[0];
    if (insn.effect == Effect::None)
        return nullptr;
    block_->timed.push_back({insn, cycle, first_op, block_->ops.size(), address, block_.get()});
    return &block_->timed.back();
}

void BlockBuilder::add_wrong_path(Decoder &decoder, const uint8_t *code, size_t size,
                                  uint64_t address) {
    constexpr size_t kEnough = 64; // more than the queues hold
    if (!options_.pipeline || !block_->unpredicted || block_->branch == Branch::None)
        return;
    size_t used = 0;
    while (used < size && block_->wrong_path.size() < kEnough) {
        Insn insn = decoder.decode(code + used, size - used, address + used);
        if (insn.size == 0)
            return;
        append_micro_ops(insn, address + used, insn.size, options_, block_->wrong_path);
        used += insn.size;
    }
}

std::unique_ptr<Block> BlockBuilder::finish() {
    block_->schedule = scheduler_.finish();
    return std::move(block_);
}

} // namespace lockcross
