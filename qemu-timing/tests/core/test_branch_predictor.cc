#include "core/branch_predictor.h"
#include "isa/insn.h"

#include <cstdint>
#include <doctest/doctest.h>

using namespace lockcross;

TEST_CASE("predictor: a loop is mispredicted when it begins and when it ends") {
    BranchPredictor predictor(64);
    int mispredicted = 0;
    for (int turn = 0; turn < 10; turn++) {
        uint64_t target = turn < 9 ? 0x100 : 0x204;
        mispredicted += !predictor.predicted(Branch::Conditional, 0x200, 0x204, target);
    }
    CHECK(mispredicted == 2);
}

TEST_CASE("predictor: returns match calls, conditional ones only when they return") {
    BranchPredictor predictor(64);
    CHECK(predictor.predicted(Branch::Call, 0x100, 0x104, 0x800));
    CHECK(predictor.predicted(Branch::IndirectCall, 0x800, 0x804, 0x900) == false); // first time
    predictor.predicted(Branch::ConditionalReturn, 0x900, 0x904, 0x904);            // not taken
    predictor.predicted(Branch::ConditionalReturn, 0x904, 0x908, 0x804);
    CHECK(predictor.predicted(Branch::Return, 0x810, 0x814, 0x104));
    CHECK_FALSE(predictor.predicted(Branch::Return, 0x810, 0x814, 0x104)); // nothing to return to
}

TEST_CASE("predictor: an indirect branch is predicted to go where it went") {
    BranchPredictor predictor(64);
    predictor.predicted(Branch::Indirect, 0x100, 0x104, 0x500);
    CHECK(predictor.predicted(Branch::Indirect, 0x100, 0x104, 0x500));
    CHECK_FALSE(predictor.predicted(Branch::Indirect, 0x100, 0x104, 0x600));
}

TEST_CASE("predictor: a branch that is squashed each time never learns that it is taken") {
    BranchPredictor predictor(16);
    for (int turn = 0; turn < 10; turn++) {
        predictor.squashed(Branch::Conditional, 0x100);
        CHECK_FALSE(predictor.predicted(Branch::Conditional, 0x100, 0x104, 0x200));
    }
    for (int turn = 0; turn < 3; turn++)
        predictor.predicted(Branch::Conditional, 0x100, 0x104, 0x200);
    predictor.squashed(Branch::Conditional, 0x100);
    CHECK(predictor.predicted(Branch::Conditional, 0x100, 0x104, 0x200));
}

TEST_CASE("predictor: with a history it learns a branch that follows another") {
    auto mispredicted = [](uint32_t history) {
        BranchPredictor predictor(64, history);
        int wrong = 0;
        for (int turn = 0; turn < 400; turn++) {
            bool taken = turn % 3 == 0; // a pattern that no counter follows
            wrong += !predictor.predicted(Branch::Conditional, 0x100, 0x104, taken ? 0x200 : 0x104);
        }
        return wrong;
    };
    CHECK(mispredicted(0) > 100);
    CHECK(mispredicted(8) < 30);
}

TEST_CASE("predictor: the end of a loop is predicted when the history reaches behind its begin") {
    auto mispredicted = [](uint32_t history, int turns) {
        BranchPredictor predictor(4096, history);
        int late = 0;
        for (int run = 0; run < 60; run++) {
            for (int turn = 0; turn < turns; turn++) {
                bool right = predictor.predicted(Branch::Conditional, 0x200, 0x204,
                                                 turn < turns - 1 ? 0x100 : 0x204);
                late += run >= 40 && !right;
            }
        }
        return late;
    };
    for (int turns : {4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 100, 120}) {
        CAPTURE(turns);
        CHECK(mispredicted(128, turns) == 0);
    }
    CHECK(mispredicted(128, 200) >= 20);
    CHECK(mispredicted(16, 100) >= 20);
}

TEST_CASE("predictor: of several lengths of history one fits a loop behind another of any length") {
    auto mispredicted = [](uint32_t history, int turns) {
        BranchPredictor predictor(4096, history);
        uint64_t random = 88172645463325252u;
        int late = 0;
        for (int run = 0; run < 2000; run++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            int before = 1 + int(random % 32);
            for (int turn = 0; turn < before; turn++)
                predictor.predicted(Branch::Conditional, 0x600, 0x604,
                                    turn < before - 1 ? 0x500 : 0x604);
            for (int turn = 0; turn < turns; turn++) {
                bool right = predictor.predicted(Branch::Conditional, 0x200, 0x204,
                                                 turn < turns - 1 ? 0x100 : 0x204);
                late += run >= 1000 && !right;
            }
        }
        return late;
    };
    for (int turns : {4, 8, 16, 24, 32, 64, 100, 120}) {
        CAPTURE(turns);
        CHECK(mispredicted(128, turns) < 100);
    }
    CHECK(mispredicted(16, 24) >= 1000);
}
