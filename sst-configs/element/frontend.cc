#include "frontend.h"

#include <cinttypes>
#include <utility>

#include <sst/core/sst_config.h>

namespace lockcross {
namespace {

// Something to do at its time. Checkpoints are not supported.
class Alarm : public SST::Event {
  public:
    ImplementSerializable(lockcross::Alarm);
};

} // namespace

Frontend::Frontend(SST::ComponentId_t id, SST::Params &params)
    : SST::Component(id), picosecond_(getTimeConverter("1ps")),
      period_(params.find<uint64_t>("period")), line_(params.find<uint64_t>("line")),
      lat_l1_(params.find<uint64_t>("lat_l1")), record_path_(params.find<std::string>("record")),
      session_(session_options(params)), out_("", 0, 0, SST::Output::STDERR) {
    registerAsPrimaryComponent();
    primaryComponentDoNotEndSim();
    steps_ =
        configureSelfLink("steps", "1ps", new SST::Event::Handler<Frontend, &Frontend::step>(this));
    watches_ = configureSelfLink("watches", "1ps",
                                 new SST::Event::Handler<Frontend, &Frontend::watch>(this));
    const auto cores = params.find<uint32_t>("cores");
    for (uint32_t number = 0; number < cores; ++number)
        add_core(number);
}

SessionOptions Frontend::session_options(SST::Params &params) {
    SessionOptions options;
    options.cores = params.find<uint32_t>("cores");
    options.line_bytes = params.find<uint32_t>("line");
    options.lat_l1 = params.find<uint32_t>("lat_l1");
    options.lat_miss = params.find<uint32_t>("lat_miss");
    options.lines = params.find<uint64_t>("lines");
    options.oldest_request = params.find<uint64_t>("oldest_request");
    options.guest_output = params.find<std::string>("guest_stdout");
    options.guest_errors = params.find<std::string>("guest_stderr");
    const auto words = params.find<uint32_t>("guest");
    for (uint32_t word = 0; word < words; ++word)
        options.guest.push_back(params.find<std::string>("guest" + std::to_string(word)));
    return options;
}

void Frontend::add_core(uint32_t number) {
    auto *slots = getSubComponentSlotInfo("memory");
    if (slots == nullptr || !slots->isPopulated(static_cast<int>(number)))
        out_.fatal(CALL_INFO, 2, "lockcross: core %" PRIu32 " has no memory interface\n", number);
    const std::string name = "core" + std::to_string(number);
    cores_.push_back(
        {slots->create<Memory>(static_cast<int>(number), SST::ComponentInfo::SHARE_NONE,
                               getTimeConverter(std::to_string(period_) + "ps"),
                               new Memory::Handler<Frontend, &Frontend::answered>(this)),
         registerStatistic<uint64_t>("read_cycles", name),
         registerStatistic<uint64_t>("write_cycles", name),
         registerStatistic<uint64_t>("touches", name),
         registerStatistic<uint64_t>("touches_missed", name)});
}

void Frontend::init(unsigned int phase) {
    for (Core &core : cores_)
        core.memory->init(phase);
}

void Frontend::setup() {
    for (Core &core : cores_) {
        core.memory->setup();
        if (core.memory->getLineSize() != line_)
            give_up(Failure(ExitCode::Link, "lines of " + std::to_string(line_) +
                                                " bytes, but the L1 has " +
                                                std::to_string(core.memory->getLineSize())));
    }
    try {
        session_.start();
    } catch (const Failure &failure) {
        give_up(failure);
    }
    step_at(0);
}

uint64_t Frontend::now() const { return getCurrentSimTime(picosecond_); }

uint64_t Frontend::delay(uint64_t cycle) const { return cycle * period_ + period_ / 2 - now(); }

void Frontend::step_at(uint64_t cycle) {
    if (cycle != kNoLimit && scheduled_.insert(cycle).second)
        steps_->send(delay(cycle), new Alarm());
}

void Frontend::watch_at(uint64_t cycle) {
    watching_ = cycle != kNoLimit;
    if (watching_)
        watches_->send(delay(cycle), new Alarm());
}

void Frontend::answered(Memory::Request *answer) {
    const auto found = made_.find(answer->getID());
    const Request request = found->second;
    made_.erase(found);
    delete answer;
    const uint64_t cycle = now() / period_;
    const uint64_t taken = cycle - request.asked.cycle;
    Core &core = cores_[request.asked.core];
    session_.answer(request, cycle);
    switch (request.asked.kind) {
    case RequestKind::Read:
        core.read_cycles->addData(taken);
        break;
    case RequestKind::Write:
        core.write_cycles->addData(taken);
        break;
    case RequestKind::Touch:
    case RequestKind::TouchWrite:
        core.touches->addData(1);
        if (taken > lat_l1_)
            core.touches_missed->addData(1);
        return; // nobody waits for it
    }
    step_at(cycle);
}

void Frontend::step(SST::Event *event) {
    delete event;
    const uint64_t cycle = now() / period_;
    scheduled_.erase(cycle);
    if (over_)
        return;
    try {
        step_in(cycle);
    } catch (const Failure &failure) {
        give_up(failure);
    }
}

void Frontend::step_in(uint64_t cycle) {
    for (;;) {
        for (const Request &request : session_.due(cycle))
            make(request);
        if (!session_.must_exchange(cycle))
            break;
        if (!session_.exchange(cycle)) {
            over_ = true;
            write_record_at_exit(record(""), record_path_);
            primaryComponentOKToEndSim();
            return;
        }
    }
    step_at(session_.next_step());
    if (!watching_)
        watch_at(session_.check_age(cycle));
}

void Frontend::watch(SST::Event *event) {
    delete event;
    if (over_)
        return;
    try {
        watch_at(session_.check_age(now() / period_));
    } catch (const Failure &failure) {
        give_up(failure);
    }
}

void Frontend::make(const Request &request) {
    const uint64_t address = request.asked.line * line_;
    // No values are simulated: any eight bytes of the line will do.
    constexpr uint64_t kBytes = 8;
    Memory::Request *made;
    if (writes(request.asked))
        made = new Memory::Write(address, kBytes, std::vector<uint8_t>(kBytes));
    else
        made = new Memory::Read(address, kBytes);
    made_.emplace(made->getID(), request);
    cores_[request.asked.core].memory->send(made);
}

Record Frontend::record(const std::string &cause) {
    Record record;
    record.cause = cause;
    record.sst_version = PACKAGE_VERSION; // of the SST that it is compiled for
    record.cycles = now() / period_;
    record.requests = session_.requests();
    record.turns = session_.turns();
    record.guest_ended = session_.guest_ended();
    record.guest_exit = session_.guest_exit();
    return record;
}

void Frontend::give_up(const Failure &failure) {
    over_ = true;
    const Record last = record(failure.what()); // before the guest is killed for it
    session_.fail(failure.what());
    write_record(last, record_path_);
    out_.fatal(CALL_INFO, static_cast<int>(failure.code), "lockcross: %s\n", failure.what());
}

void Frontend::finish() {
    if (!over_)
        give_up(Failure(ExitCode::Deadlock,
                        "SST ended in cycle " + std::to_string(now() / period_) + " with " +
                            std::to_string(session_.open()) +
                            " requests open: deadlock (event queue empty), or a signal"));
}

void Frontend::emergencyShutdown() {
    if (over_)
        return;
    over_ = true;
    session_.fail("SST shut down");
    write_record(record("SST shut down: its own message says why"), record_path_);
}

} // namespace lockcross
