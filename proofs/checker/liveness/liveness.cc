#include "liveness/liveness.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace liveness {

namespace {

using Kind = Operand::Kind;

constexpr unsigned kUnknownDepth = UINT32_MAX;

// What is not understood: the function has no rows.
struct NotUnderstood {};

bool is_kept(Register reg) { return reg >= 0 && static_cast<unsigned>(reg) < kKept; }

bool is_register(const Operand &operand, Register reg) {
    return operand.kind == Kind::kRegister && operand.reg == reg;
}

// Of an address in the frame that can be told; with an index it cannot.
bool in_frame(const Operand &operand) {
    return operand.kind == Kind::kMemory && operand.reg == kRsp && operand.index == kNone;
}

unsigned bytes_of(char suffix) {
    constexpr std::string_view kSuffixes = "bwlq";
    size_t found = kSuffixes.find(suffix);
    if (found == kSuffixes.npos)
        throw NotUnderstood();
    return 1U << found;
}

bool is_one_of(std::string_view name, std::string_view names) {
    for (size_t at = names.find(name); at != names.npos; at = names.find(name, at + 1)) {
        size_t end = at + name.size();
        if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' '))
            return true;
    }
    return false;
}

// What an instruction does with its last operand; it reads the others.
enum class Action {
    kMove,
    kExtend,
    kAddress,
    kChange,
    kTakeMaybe,
    kReadAll,
    kSetByte,
    kPush,
    kPop,
    kCall,
    kJump,
    kBranch,
    kReturn,
    kTrap,
    kNothing
};

struct Meaning {
    Action action;
    unsigned bytes = 0; // of what it reads or writes in memory
};

bool has_suffix(std::string_view name, std::string_view stems) {
    return name.size() > 1 &&
           std::string_view("bwlq").find(name.back()) != std::string_view::npos &&
           is_one_of(name.substr(0, name.size() - 1), stems);
}

Meaning meaning(std::string_view name) {
    if (has_suffix(name, "mov") || name == "movabsq")
        return {Action::kMove, bytes_of(name.back())};
    if (is_one_of(name, "movaps movups movdqa movdqu"))
        return {Action::kMove, 16};
    if (name.size() == 6 && (name.starts_with("movz") || name.starts_with("movs")))
        return {Action::kExtend, bytes_of(name[4])};
    if (has_suffix(name, "lea"))
        return {Action::kAddress, bytes_of(name.back())};
    if (has_suffix(name, "add sub and or xor adc sbb sal sar shl shr rol ror imul neg not inc dec"))
        return {Action::kChange, bytes_of(name.back())};
    if (has_suffix(name, "cmp test bt"))
        return {Action::kReadAll, bytes_of(name.back())};
    if (has_suffix(name, "mul div idiv"))
        return {Action::kReadAll, bytes_of(name.back())};
    if (name.starts_with("cmov"))
        return {Action::kTakeMaybe, 8};
    if (name.starts_with("set"))
        return {Action::kSetByte, 1};
    if (name == "pushq" || name == "popq")
        return {name == "pushq" ? Action::kPush : Action::kPop, 8};
    if (name == "call")
        return {Action::kCall};
    if (name == "jmp")
        return {Action::kJump};
    if (name == "ret")
        return {Action::kReturn};
    if (name == "ud2")
        return {Action::kTrap};
    if (is_one_of(name, "cltq cqto cltd cwtl nop"))
        return {Action::kNothing};
    if (name.size() > 1 && name.front() == 'j')
        return {Action::kBranch};
    throw NotUnderstood();
}

// Never returns, so that what stands behind it is no part of the path.
bool never_returns(const Instruction &call) { return call.target == "lock_fatal"; }

bool goes_to_function(const Instruction &jump) { return !jump.target.starts_with(".L"); }

class Analysis {
  public:
    explicit Analysis(const Function &function) : function_(function), code_(function.code) {
        if (function.has_assembly)
            throw NotUnderstood();
        for (const Instruction &instruction : code_)
            meanings_.push_back(meaning(instruction.name));
        find_depths();
        find_objects();
        find_live();
    }

    std::vector<Row> rows() const {
        std::vector<Row> made;
        for (size_t i = 0; i < code_.size(); i++) {
            if (meanings_[i].action != Action::kCall || depths_[i] == kUnknownDepth)
                continue;
            State live = never_returns(code_[i]) ? State(size_) : behind(i);
            read_by_call(i, live);
            Row row;
            row.line = code_[i].line;
            std::copy_n(live.begin(), kKept, row.registers.begin());
            for (unsigned below = depths_[i]; below-- > 0;)
                row.frame.push_back(escapes(below) ? kRead : live[kKept + below]);
            made.push_back(std::move(row));
        }
        return made;
    }

  private:
    // Of each register and then of each byte of the frame, counted from the return address down.
    using State = std::vector<Needed>;

    // By register, the address of the frame that it holds: how far below the return address it is,
    // 0 if it holds none, kSome where that depends on the path.
    using Held = std::array<int64_t, kOther>;
    static constexpr int64_t kSome = -1;

    bool escapes(size_t below) const { return below < escaped_.size() && escaped_[below]; }

    // The instructions that may follow one.
    std::vector<size_t> following(size_t i) const {
        std::vector<size_t> next;
        const Instruction &at = code_[i];
        Action action = meanings_[i].action;
        bool jumps = action == Action::kJump || action == Action::kBranch;
        if (jumps && !goes_to_function(at)) {
            auto label = function_.labels.find(at.target);
            if (label == function_.labels.end())
                throw NotUnderstood();
            if (label->second < code_.size())
                next.push_back(label->second);
        }
        bool stops = action == Action::kJump || action == Action::kReturn ||
                     action == Action::kTrap || (action == Action::kCall && never_returns(at));
        if (!stops && i + 1 < code_.size())
            next.push_back(i + 1);
        return next;
    }

    // How far the stack pointer is below the return address, before each instruction.
    void find_depths() {
        depths_.assign(code_.size(), kUnknownDepth);
        if (code_.empty())
            return;
        std::vector<size_t> open = {0};
        depths_[0] = 0;
        while (!open.empty()) {
            size_t i = open.back();
            open.pop_back();
            unsigned depth = depth_behind(i);
            deepest_ = std::max(deepest_, depth);
            for (size_t next : following(i)) {
                if (depths_[next] == kUnknownDepth) {
                    depths_[next] = depth;
                    open.push_back(next);
                } else if (depths_[next] != depth) {
                    throw NotUnderstood();
                }
            }
        }
        size_ = kKept + deepest_;
    }

    unsigned depth_behind(size_t i) const {
        const Instruction &at = code_[i];
        const unsigned depth = depths_[i];
        const Action action = meanings_[i].action;
        bool is_tail_call =
            (action == Action::kJump || action == Action::kBranch) && goes_to_function(at);
        if ((action == Action::kReturn || is_tail_call) && depth != 0)
            throw NotUnderstood();
        if (action == Action::kJump && at.target.starts_with("*"))
            throw NotUnderstood();
        if (action == Action::kPush || action == Action::kPop) {
            // Only what the function keeps for its caller: arguments on the stack are not expected.
            const Operand &what = at.operands.at(0);
            if (what.kind != Kind::kRegister || !is_kept(what.reg) || what.bytes != 8)
                throw NotUnderstood();
            if (action == Action::kPop && depth < 8)
                throw NotUnderstood();
            return action == Action::kPush ? depth + 8 : depth - 8;
        }
        for (size_t o = 0; o < at.operands.size(); o++) {
            if (!is_register(at.operands[o], kRsp))
                continue;
            bool is_last = o + 1 == at.operands.size();
            if (at.name == "movq" && o == 0)
                continue; // an address: made()
            if (!is_last || at.operands.size() != 2 || at.operands[0].kind != Kind::kConstant ||
                at.operands[0].displacement <= 0)
                throw NotUnderstood();
            auto by = static_cast<unsigned>(at.operands[0].displacement);
            if (at.name == "subq" && by < 1U << 20)
                return depth + by;
            if (at.name == "addq" && by <= depth)
                return depth - by;
            throw NotUnderstood();
        }
        return depth;
    }

    // The bytes of the frame at an address, as places in a state. What is not inside the frame is
    // an argument on the stack, or a red zone.
    std::pair<size_t, size_t> places(size_t i, int64_t displacement, unsigned bytes) const {
        int64_t first = int64_t{depths_[i]} - displacement; // below the return address
        if (displacement < 0 || first - bytes < 0 || first > int64_t{deepest_})
            throw NotUnderstood();
        return {kKept + static_cast<size_t>(first - bytes), kKept + static_cast<size_t>(first)};
    }

    // Addresses of the frame. gcc passes those of local variables to the checker's calls, which do
    // not keep them; any other use makes all local variables live.
    void find_objects() {
        objects_.resize(code_.size());
        find_held();
        for (size_t i = 0; i < code_.size(); i++) {
            if (depths_[i] == kUnknownDepth)
                continue;
            for (const Operand &operand : code_[i].operands) {
                if (operand.kind == Kind::kUnknown && meanings_[i].action != Action::kCall)
                    throw NotUnderstood();
            }
            if (lets_address_escape(i))
                find_locals();
        }
    }

    // What stands between the saved registers and the deepest call, if an address of it escapes.
    void find_locals() {
        escaped_.assign(deepest_, false);
        for (size_t i = 0; i < code_.size(); i++) {
            if (depths_[i] == kUnknownDepth || meanings_[i].action == Action::kPush)
                continue;
            for (unsigned below = depths_[i]; below < depth_behind(i); below++)
                escaped_[below] = true;
        }
    }

    // Which address of the frame each register holds, forwards until nothing changes.
    void find_held() {
        held_.resize(code_.size());
        if (code_.empty())
            return;
        held_[0].emplace();
        for (std::vector<size_t> open = {0}; !open.empty();) {
            size_t i = open.back();
            open.pop_back();
            const Held behind = held_behind(i);
            for (size_t next : following(i)) {
                Held joined = behind;
                if (held_[next]) {
                    for (size_t r = 0; r < joined.size(); r++) {
                        if (joined[r] != (*held_[next])[r])
                            joined[r] = kSome;
                    }
                }
                if (held_[next] != joined) {
                    held_[next] = joined;
                    open.push_back(next);
                }
            }
        }
    }

    // The address that an instruction makes or moves, 0 if it does neither.
    int64_t made(size_t i) const {
        const Instruction &at = code_[i];
        if (at.operands.size() != 2 || at.operands[1].kind != Kind::kRegister)
            return 0;
        const Operand &from = at.operands[0];
        if (meanings_[i].action == Action::kAddress && in_frame(from))
            return depths_[i] - from.displacement;
        if (at.name != "movq" || from.kind != Kind::kRegister)
            return 0;
        if (from.reg == kRsp)
            return depths_[i];
        return from.reg == kOther ? 0 : (*held_[i])[static_cast<size_t>(from.reg)];
    }

    Held held_behind(size_t i) const {
        const Instruction &at = code_[i];
        Held held = *held_[i];
        if (meanings_[i].action == Action::kCall)
            held[kRdi] = held[kRsi] = 0;
        else if (!at.operands.empty() && at.operands.back().kind == Kind::kRegister &&
                 meanings_[i].action != Action::kPush && at.operands.back().reg != kOther)
            held[static_cast<size_t>(at.operands.back().reg)] = made(i);
        return held;
    }

    bool may_hold(size_t i, Register reg) const {
        return reg != kNone && reg != kOther && (*held_[i])[static_cast<size_t>(reg)] != 0;
    }

    // Whether an instruction does with an address what is not followed.
    bool lets_address_escape(size_t i) {
        const Instruction &at = code_[i];
        const Action action = meanings_[i].action;
        if (action == Action::kCall)
            return !passes_known_addresses(i);
        if (made(i) != 0)
            return at.operands[1].reg == kOther;
        bool writes = action == Action::kMove || action == Action::kExtend ||
                      action == Action::kAddress || action == Action::kPop;
        for (size_t o = 0; o < at.operands.size(); o++) {
            const Operand &operand = at.operands[o];
            if (operand.index == kRsp || (operand.reg == kRsp && operand.index != kNone))
                return true;
            bool is_written = writes && o + 1 == at.operands.size() &&
                              operand.kind == Kind::kRegister && operand.bytes >= 4;
            if (!is_written && (may_hold(i, operand.reg) || may_hold(i, operand.index)))
                return true;
        }
        return false;
    }

    // Whether it is known what a call does with the addresses that it is passed. A
    // compare-and-exchange reads what it expects there, before and after it stops; an announcement
    // of an access touches nothing.
    bool passes_known_addresses(size_t call) {
        std::string_view callee = code_[call].target;
        constexpr std::string_view kOurs = "__tsan_";
        bool is_ours = callee.starts_with(kOurs);
        if (is_ours)
            callee.remove_prefix(kOurs.size());
        if (may_hold(call, kRdi)) {
            for (std::string_view prefix : {"unaligned_", "volatile_"}) {
                if (callee.starts_with(prefix))
                    callee.remove_prefix(prefix.size());
            }
            return is_ours && !may_hold(call, kRsi) &&
                   is_one_of(callee, "read1 read2 read4 read8 read16 write1 write2 write4 write8 "
                                     "write16");
        }
        if (!may_hold(call, kRsi))
            return true;
        const int64_t below = (*held_[call])[kRsi];
        for (unsigned bytes : {1, 2, 4, 8}) {
            std::string stem = "atomic" + std::to_string(8 * bytes) + "_compare_exchange_";
            if (is_ours && below != kSome &&
                (callee == stem + "strong" || callee == stem + "weak")) {
                objects_[call] = places(call, int64_t{depths_[call]} - below, bytes);
                return true;
            }
        }
        return false;
    }

    void read_by_call(size_t call, State &live) const {
        for (size_t place = objects_[call].first; place < objects_[call].second; place++)
            live[place] |= kRead;
    }

    // Backwards, until nothing changes.
    void find_live() {
        live_.assign(code_.size(), State(size_));
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t i = code_.size(); i-- > 0;) {
                if (depths_[i] == kUnknownDepth)
                    continue;
                State before = before_one(i);
                changed |= before != live_[i];
                live_[i] = std::move(before);
            }
        }
    }

    State behind(size_t i) const {
        State live(size_);
        for (size_t next : following(i)) {
            for (size_t place = 0; place < size_; place++)
                live[place] |= live_[next][place];
        }
        return live;
    }

    void add_returned(State &live) const {
        for (unsigned r = 0; r < kKept; r++)
            live[r] |= at_return(r);
    }

    State before_one(size_t i) const {
        const Instruction &at = code_[i];
        const auto [action, bytes] = meanings_[i];
        State live = behind(i);
        switch (action) {
        case Action::kJump:
        case Action::kBranch:
            if (goes_to_function(at))
                add_returned(live);
            return live;
        case Action::kReturn:
            add_returned(live);
            return live;
        case Action::kTrap:
        case Action::kNothing:
            return live;
        case Action::kCall:
            // Where an indirect one goes stands in a register or in memory: all may be meant.
            if (at.target.starts_with("*"))
                std::ranges::for_each(live, [](Needed &needed) { needed |= kRead; });
            read_by_call(i, live);
            return live;
        case Action::kPush: {
            unsigned low = depths_[i] + 8;
            Needed needed = take(live, kKept + low - 8, kKept + low);
            live[static_cast<size_t>(at.operands[0].reg)] |= needed;
            return live;
        }
        case Action::kPop: {
            auto into = static_cast<size_t>(at.operands[0].reg);
            Needed needed = take(live, into, into + 1);
            unsigned low = depths_[i];
            for (unsigned below = low - 8; below < low; below++)
                live[kKept + below] |= needed;
            return live;
        }
        default:
            return before_operation(i, action, bytes, std::move(live));
        }
    }

    // One with operands, of which the last is what it changes.
    State before_operation(size_t i, Action action, unsigned bytes, State live) const {
        const Instruction &at = code_[i];
        if (at.operands.empty())
            throw NotUnderstood();
        if (is_register(at.operands.back(), kRsp)) // by a constant: depth_behind()
            return live;
        const Operand &last = at.operands.back();
        const Operand &first = at.operands.front();
        // Of a register and itself: nothing of what it held is left.
        bool clears = is_one_of(at.name, "xorl xorq subl subq sbbl sbbq") &&
                      at.operands.size() == 2 && first.kind == Kind::kRegister &&
                      last.kind == Kind::kRegister && first.reg == last.reg && first.reg != kOther;
        bool moves = action == Action::kMove || action == Action::kExtend;
        Needed needed = kRead;
        if (moves || action == Action::kAddress || action == Action::kSetByte || clears)
            needed = written(i, last, action == Action::kMove ? bytes : 1, live);
        else
            read(i, last, bytes, kRead, live);
        if (clears || (action == Action::kSetByte))
            return live;
        for (size_t o = 0; o + 1 < at.operands.size(); o++) {
            if (action == Action::kAddress)
                read_address(at.operands[o], live);
            else
                read(i, at.operands[o], bytes, moves ? needed : kRead, live);
        }
        return live;
    }

    // Takes out of a state what is overwritten; returns for what it was needed.
    static Needed take(State &live, size_t first, size_t end) {
        Needed needed = 0;
        for (size_t place = first; place < end; place++)
            needed |= std::exchange(live[place], Needed{0});
        return needed;
    }

    // An operand is overwritten: in memory so many bytes, of a register what it names; the upper
    // half of one of which 32 bits are named is cleared, else the rest of it stays.
    Needed written(size_t i, const Operand &operand, unsigned bytes, State &live) const {
        if (operand.kind == Kind::kRegister) {
            if (!is_kept(operand.reg))
                return kRead; // of the others nothing is known
            auto place = static_cast<size_t>(operand.reg);
            return operand.bytes >= 4 ? take(live, place, place + 1) : live[place];
        }
        if (operand.kind != Kind::kMemory)
            throw NotUnderstood();
        read_address(operand, live);
        if (!in_frame(operand))
            return kRead;
        auto [first, end] = places(i, operand.displacement, bytes);
        return take(live, first, end);
    }

    void read(size_t i, const Operand &operand, unsigned bytes, Needed needed, State &live) const {
        if (operand.kind == Kind::kRegister && is_kept(operand.reg))
            live[static_cast<size_t>(operand.reg)] |= needed;
        if (operand.kind != Kind::kMemory)
            return;
        read_address(operand, live);
        if (!in_frame(operand))
            return;
        auto [first, end] = places(i, operand.displacement, bytes);
        for (size_t place = first; place < end; place++)
            live[place] |= needed;
    }

    static void read_address(const Operand &operand, State &live) {
        for (Register reg : {operand.reg, operand.index}) {
            if (operand.kind == Kind::kMemory && is_kept(reg))
                live[static_cast<size_t>(reg)] |= kRead;
        }
    }

    const Function &function_;
    const std::vector<Instruction> &code_;
    std::vector<Meaning> meanings_;
    std::vector<unsigned> depths_;
    unsigned deepest_ = 0;
    size_t size_ = 0;                                // of a state
    std::vector<std::optional<Held>> held_;          // before each instruction
    std::vector<bool> escaped_;                      // bytes of local variables, if an address is
    std::vector<std::pair<size_t, size_t>> objects_; // by call: the places that it reads
    std::vector<State> live_;                        // before each instruction
};

} // namespace

std::optional<std::vector<Row>> rows(const Function &function) {
    try {
        return Analysis(function).rows();
    } catch (const NotUnderstood &) {
        return std::nullopt;
    }
}

} // namespace liveness
