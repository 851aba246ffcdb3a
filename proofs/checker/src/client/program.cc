#include "client/program.h"

namespace prove {

NodeId Program::start(unsigned thread) {
    Edge edge{Node::kNone, thread};
    if (auto found = edges_.find(edge); found != edges_.end())
        return found->second;
    native_.start(thread, stopped_);
    return edges_[edge] = enter(thread, stopped_);
}

NodeId Program::follow(NodeId id, uint64_t answer) {
    Edge edge{id, answer};
    auto found = edges_.find(edge);
    if (found == edges_.end()) {
        const Node &node = nodes_[id];
        native_.resume(node.thread, node.stack_pointer, node.frame,
                       stacks_.data() + node.stack_offset, node.stack_bytes, answer, stopped_);
        found = edges_.emplace(edge, enter(node.thread, stopped_)).first;
    }
    nodes_[id].last_answer = answer;
    nodes_[id].last_next = found->second;
    return found->second;
}

NodeId Program::enter(unsigned thread, const Stopped &stopped) {
    const Operation &op = stopped.op;
    Hash stack = hash_bytes(stopped.stack.data(), stopped.stack.size(), thread);
    const uint64_t words[] = {stack.low,
                              stack.high,
                              static_cast<uint64_t>(op.kind) << 32 |
                                  static_cast<uint64_t>(op.update) << 24 |
                                  static_cast<uint64_t>(op.order) << 16 |
                                  static_cast<uint64_t>(op.failure_order) << 8 | op.size,
                              op.address,
                              op.value,
                              op.expected,
                              op.return_address,
                              reinterpret_cast<uint64_t>(op.what)};
    Hash key = hash_words(words, sizeof words / sizeof *words);
    auto [known, is_new] = known_.try_emplace(key, static_cast<NodeId>(nodes_.size()));
    if (!is_new)
        return known->second;
    Node node;
    node.op = op;
    node.thread = thread;
    node.stack_pointer = stopped.stack_pointer;
    node.frame = stopped.frame;
    node.stack_offset = stacks_.size();
    node.stack_bytes = static_cast<uint32_t>(stopped.stack.size());
    stacks_.insert(stacks_.end(), stopped.stack.begin(), stopped.stack.end());
    bool is_first = op.kind == Kind::kInterrupt && !interrupts_;
    interrupts_ |= is_first;
    if (layout_.note(op, thread) || is_first)
        layout_changed_ = true;
    else if (!layout_changed_)
        node.at = layout_.locate(op);
    nodes_.push_back(node);
    return known->second;
}

void Program::settle_layout() {
    layout_.settle();
    for (Node &node : nodes_) {
        if (node.op.is_plain() || node.op.is_atomic())
            node.at = layout_.locate(node.op);
    }
    layout_changed_ = false;
}

} // namespace prove
