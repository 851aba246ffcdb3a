// Encodings come from the GNU assembler (binutils 2.40).
#include "isa/decoder.h"
#include "isa/insn.h"

#include <cstdint>
#include <doctest/doctest.h>
#include <initializer_list>
#include <vector>

using namespace lockcross;

namespace {

Insn x86(std::initializer_list<uint8_t> bytes) {
    std::vector<uint8_t> copy(bytes);
    return make_decoder("x86_64")->decode(copy.data(), copy.size(), 0x1000);
}

Insn word(const char *isa, uint32_t w) {
    uint8_t bytes[] = {uint8_t(w), uint8_t(w >> 8), uint8_t(w >> 16), uint8_t(w >> 24)};
    return make_decoder(isa)->decode(bytes, 4, 0x1000);
}
Insn arm(uint32_t w) { return word("aarch64", w); }
Insn ppc(uint32_t w) { return word("ppc64le", w); }

uint64_t reg(unsigned n) { return uint64_t(1) << n; }

} // namespace

TEST_CASE("decode: only the three instruction sets") { CHECK(make_decoder("riscv64") == nullptr); }

TEST_CASE("decode: what it does not know, it says") {
    CHECK_FALSE(x86({0x66, 0x0f, 0xef, 0xc0}).known); // pxor %xmm0,%xmm0
    CHECK_FALSE(x86({0xc5, 0xf8, 0x77}).known);       // vzeroupper
    CHECK_FALSE(arm(0x6f00e400).known);               // movi v0.2d, #0
    CHECK_FALSE(arm(0x1e602820).known);               // fadd d0, d1, d0
    CHECK_FALSE(arm(0xd65f0bff).known);               // retaa
    CHECK_FALSE(ppc(0x10000484).known);               // vor v0,v0,v0
    CHECK_FALSE(ppc(0xfc00002a).known);               // fadd f0,f0,f0
    CHECK_FALSE(ppc(0xbc610000).known);               // stmw r3,0(r1)
    CHECK_FALSE(ppc(0).known);
    CHECK(ppc(0x44000002).known); // sc
    CHECK(arm(0xd4000001).known); // svc #0
}

TEST_CASE("decode x86: an instruction that goes on behind the bytes is cut off") {
    CHECK(x86({0xe8, 0, 0, 0}).cut_off);
    CHECK(x86({0xf0, 0x0f}).cut_off);
    CHECK(x86({0x66}).cut_off);
    CHECK(x86({0x0f, 0xae}).cut_off);       // mfence, lfence or another
    CHECK(x86({0xf7}).cut_off);             // div or another
    CHECK_FALSE(x86({0x0f, 0x77}).cut_off); // emms is none that it knows
    CHECK_FALSE(x86({0x0f, 0x77}).known);
    Insn cut = x86({0x48, 0x8b, 0x84, 0x24, 0x10});
    CHECK(cut.cut_off);
    CHECK(cut.known);
    CHECK(cut.size == 0);
    CHECK_FALSE(x86({0xc3, 0xe8}).cut_off);
    CHECK(x86({0xc3, 0xe8}).size == 1);
}

TEST_CASE("decode x86: operands") {
    CHECK(x86({0x88, 0xe0}).reads == reg(0));                          // mov %ah,%al
    CHECK(x86({0x40, 0x88, 0xe0}).reads == reg(4));                    // mov %spl,%al
    CHECK(x86({0x4b, 0x8b, 0x04, 0xa6}).reads == (reg(14) | reg(12))); // mov (%r14,%r12,4),%rax
    CHECK(x86({0x8b, 0x04, 0x25, 0, 0, 0, 0}).reads == 0);             // mov 0x0,%eax
    CHECK(x86({0x8b, 0x05, 0, 0, 0, 0}).reads == 0);                   // mov 0x0(%rip),%eax
    CHECK(x86({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}).size == 10);       // movabs
    CHECK(x86({0x66, 0xb8, 1, 2}).size == 4);                          // mov $0x201,%ax
    CHECK(x86({0x66, 0x48, 0x05, 1, 2, 3, 4}).size == 7);              // add $0x4030201,%rax
    CHECK(x86({0x48, 0x66, 0x05, 1, 2}).size == 5);                    // a REX that does not count
    CHECK((x86({0xe2, 0xfe}).reads & reg(32)) == 0);                   // loop
    CHECK((x86({0xe1, 0xfe}).reads & reg(32)) != 0);                   // loope
    CHECK(x86({0x41, 0x90}).writes == (reg(0) | reg(8)));              // xchg %eax,%r8d
    CHECK(x86({0xf6, 0xf1}).writes == (reg(0) | reg(32)));             // div %cl: all in ax
    CHECK(x86({0x6b, 0xc1, 0x05}).reads == reg(1));                    // imul $5,%ecx,%eax
    CHECK(x86({0xf3, 0x0f, 0xbc, 0xc1}).reads == reg(1));              // tzcnt %ecx,%eax
    CHECK(x86({0x0f, 0xbc, 0xc1}).reads == (reg(0) | reg(1)));         // bsf %ecx,%eax
}

TEST_CASE("decode x86: what a core can do as it renames registers") {
    CHECK(x86({0x31, 0xc0}).zeroes);             // xor %eax,%eax
    CHECK(x86({0x4d, 0x29, 0xc0}).zeroes);       // sub %r8,%r8
    CHECK_FALSE(x86({0x31, 0xc8}).zeroes);       // xor %ecx,%eax
    CHECK_FALSE(x86({0x30, 0xc0}).zeroes);       // xor %al,%al
    CHECK_FALSE(x86({0x66, 0x31, 0xc0}).zeroes); // xor %ax,%ax
    CHECK(x86({0x48, 0x89, 0xc8}).copies);       // mov %rcx,%rax
    CHECK(x86({0x89, 0xc8}).copies);             // mov %ecx,%eax
    CHECK_FALSE(x86({0x88, 0xc8}).copies);       // mov %cl,%al
    CHECK_FALSE(x86({0x66, 0x89, 0xc8}).copies); // mov %cx,%ax
    CHECK_FALSE(x86({0x48, 0x89, 0x08}).copies); // mov %rcx,(%rax)
    CHECK_FALSE(x86({0xb8, 1, 0, 0, 0}).copies); // mov $1,%eax
}

TEST_CASE("decode x86: what an address is made of") {
    uint64_t form = x86({0x8b, 0x47, 0x08}).address_form; // mov 8(%rdi),%eax
    CHECK(form != 0);
    CHECK(x86({0x89, 0x4f, 0x08}).address_form == form);         // mov %ecx,8(%rdi)
    CHECK(x86({0x8b, 0x47, 0x10}).address_form != form);         // mov 16(%rdi),%eax
    CHECK(x86({0x8b, 0x46, 0x08}).address_form != form);         // mov 8(%rsi),%eax
    CHECK(x86({0x8b, 0x04, 0x37}).address_form == 0);            // mov (%rdi,%rsi),%eax
    CHECK(x86({0x8b, 0x05, 6, 0, 0, 0}).address_form ==          // mov 6(%rip),%eax
          x86({0x48, 0x8b, 0x05, 5, 0, 0, 0}).address_form);     // mov 5(%rip),%rax
    CHECK(x86({0x53}).address_form == x86({0x5b}).address_form); // push %rbx; pop %rbx
}

TEST_CASE("decode x86: a no-op needs no unit") {
    CHECK(x86({0x90}).nop);
    CHECK(x86({0x0f, 0x1f, 0x44, 0, 0}).nop);
    CHECK_FALSE(x86({0xf3, 0x90}).nop);
    CHECK(x86({0xf3, 0x90}).pause);
}

TEST_CASE("decode x86: atomics") {
    Insn cas = x86({0xf0, 0x0f, 0xb1, 0x0f}); // lock cmpxchg %ecx,(%rdi)
    CHECK(cas.effect == Effect::Cas);
    CHECK(cas.release);
    CHECK((cas.writes & reg(0)) != 0);
    CHECK((cas.reads & (reg(1) | reg(7))) == (reg(1) | reg(7)));
    CHECK(x86({0x87, 0x07}).effect == Effect::Rmw);             // xchg %eax,(%rdi)
    CHECK(x86({0x87, 0xc8}).effect == Effect::None);            // xchg %ecx,%eax
    CHECK(x86({0xf0, 0x0f, 0xc1, 0x07}).effect == Effect::Rmw); // lock xadd
}

TEST_CASE("decode x86: fences and charges") {
    CHECK(x86({0x0f, 0xae, 0xf0}).fence == Fence::Mfence);
    CHECK(x86({0x0f, 0xae, 0xe8}).fence == Fence::Lfence);
    CHECK(x86({0x0f, 0xae, 0xf8}).fence == Fence::Sfence);
    CHECK(x86({0x0f, 0x1f, 0x80, 0x02, 0x00, 0x58, 0x4c}).charge == Charge::Unpark);
    CHECK(x86({0x0f, 0x1f, 0x80, 0x04, 0x00, 0x58, 0x4c}).charge == Charge::Switch);
    CHECK(x86({0x0f, 0x1f, 0x80, 0x05, 0x00, 0x58, 0x4c}).charge == Charge::Barrier);
    CHECK(x86({0x0f, 0x1f, 0x80, 0x06, 0x00, 0x58, 0x4c}).charge == Charge::Yield);
    CHECK(x86({0x0f, 0x1f, 0x80, 0x07, 0x00, 0x58, 0x4c}).charge == Charge::StopBlocked);
    CHECK(x86({0x0f, 0x1f, 0x80, 0x08, 0x00, 0x58, 0x4c}).charge == Charge::StopEnded);
    CHECK(x86({0x0f, 0x1f, 0x80, 0x09, 0x00, 0x58, 0x4c}).effect == Effect::None); // no such kind
    CHECK(x86({0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00}).effect == Effect::None); // compiler's nop
    CHECK(x86({0xf3, 0x90}).effect == Effect::None);                               // pause
}

TEST_CASE("decode x86: memory, arithmetic, branches") {
    CHECK(x86({0x8b, 0x47, 0x08}).effect == Effect::Memory); // mov 8(%rdi),%eax
    CHECK(x86({0x8b, 0x47, 0x08}).latency == Latency::Load);
    Insn division = x86({0xf7, 0x37}); // divl (%rdi)
    CHECK(division.latency == Latency::Div);
    CHECK(division.load_op);
    CHECK_FALSE(x86({0x8b, 0x47, 0x08}).load_op);
    CHECK(x86({0x48, 0x8d, 0x47, 0x03}).effect == Effect::None); // lea
    Insn push = x86({0x53});
    CHECK(push.effect == Effect::Memory);
    CHECK(push.address_writes == reg(4));
    CHECK(x86({0x0f, 0xaf, 0xc1}).latency == Latency::Mul);
    CHECK(x86({0xf7, 0xf1}).latency == Latency::Div);
    CHECK(x86({0x75, 0xfe}).branch == Branch::Conditional);
    CHECK((x86({0x75, 0xfe}).reads & reg(32)) != 0);
    CHECK(x86({0xeb, 0xfe}).branch == Branch::Direct);
    CHECK(x86({0xe8, 0, 0, 0, 0}).branch == Branch::Call);
    CHECK(x86({0xff, 0xd0}).branch == Branch::IndirectCall);
    CHECK(x86({0xff, 0xe0}).branch == Branch::Indirect);
    CHECK(x86({0xc3}).branch == Branch::Return);
    CHECK(x86({0xc3}).effect == Effect::Memory);
}

TEST_CASE("decode arm: atomics, exclusives, ordered accesses") {
    Insn casa = arm(0x88e07c41); // casa w0, w1, [x2]
    CHECK(casa.effect == Effect::Cas);
    CHECK(casa.acquire);
    CHECK_FALSE(casa.release);
    CHECK(casa.writes == reg(0));
    CHECK(casa.reads == (reg(0) | reg(1) | reg(2)));
    CHECK(arm(0x88e0fc41).release);               // casal
    CHECK(arm(0xb8e00041).effect == Effect::Rmw); // ldaddal
    CHECK_FALSE(arm(0xb8e00041).exchanges);
    CHECK(arm(0xb8a08041).acquire); // swpa
    CHECK(arm(0xb8a08041).exchanges);
    for (uint32_t word : {0x88e07c41u, 0xb8e00041u, 0xb8a08041u, 0xb820003fu})
        CHECK(arm(word).may_be_far);
    CHECK_FALSE(arm(0x88037c20).may_be_far); // stxr
    CHECK_FALSE(arm(0xb820003f).returns);    // stadd
    CHECK_FALSE(arm(0xb860003f).returns);    // staddl
    CHECK(arm(0xb8a0003f).returns);          // ldadda to the zero register
    CHECK(arm(0xb820803f).returns);          // swp to the zero register
    CHECK(casa.returns);
    CHECK(arm(0x885ffc20).effect == Effect::LoadLinked);
    CHECK(arm(0x885ffc20).acquire);
    CHECK(arm(0x88037c20).effect == Effect::StoreConditional);
    CHECK_FALSE(arm(0x88037c20).release);
    CHECK(arm(0x8803fc20).release); // stlxr
    CHECK(arm(0x88037c20).writes == reg(3));
    CHECK(arm(0x88dffc20).effect == Effect::Memory);
    CHECK(arm(0x88dffc20).acquire);       // ldar
    CHECK(arm(0x889ffc20).release);       // stlr
    CHECK_FALSE(arm(0xb8bfc020).acquire); // ldapr: may pass an earlier stlr
    CHECK(arm(0xb8bfc020).effect == Effect::Memory);
}

TEST_CASE("decode arm: barriers and charges") {
    CHECK(arm(0xd5033bbf).fence == Fence::Dmb);
    CHECK(arm(0xd50339bf).fence == Fence::DmbLd);
    CHECK(arm(0xd5033abf).fence == Fence::DmbSt);
    CHECK(arm(0xd5033f9f).fence == Fence::Dsb);
    CHECK(arm(0xd5033fdf).fence == Fence::Isb);
    CHECK(arm(0xd5032e1f).charge == Charge::StopRunning); // hint #112
    CHECK(arm(0xd5032e9f).charge == Charge::Switch);
    CHECK(arm(0xd5032ebf).charge == Charge::Barrier);
    CHECK(arm(0xd5032edf).charge == Charge::Yield);
    CHECK(arm(0xd5032eff).charge == Charge::StopBlocked);
    CHECK(arm(0xd5032f1f).charge == Charge::StopEnded); // hint #120
    CHECK(arm(0xd503203f).effect == Effect::None);      // yield
}

TEST_CASE("decode arm: memory, arithmetic, branches") {
    Insn pair = arm(0xa8c107e0); // ldp x0, x1, [sp], #16
    CHECK(pair.effect == Effect::Memory);
    CHECK(pair.writes == (reg(0) | reg(1)));
    CHECK(pair.address_writes == reg(31));
    CHECK(arm(0xb8227820).effect == Effect::Memory); // str w0, [x1, x2, lsl #2]
    CHECK(arm(0x9b020c20).latency == Latency::Mul);
    CHECK(arm(0x9ac20820).latency == Latency::Div);
    CHECK(arm(0x8b020c20).reads == (reg(1) | reg(2)));
    CHECK(arm(0xf1000420).writes == (reg(0) | reg(32))); // subs
    CHECK(arm(0x54000001).branch == Branch::Conditional);
    CHECK(arm(0xb4000000).branch == Branch::Conditional);
    CHECK(arm(0x37180000).branch == Branch::Conditional);
    CHECK(arm(0xd65f03c0).branch == Branch::Return);
    CHECK(arm(0xd63f0060).branch == Branch::IndirectCall);
    CHECK(arm(0x14000000).branch == Branch::Direct);
    CHECK(arm(0x94000000).branch == Branch::Call);
}

TEST_CASE("decode arm: pairs, exclusive and swapped; moves to and from the flags") {
    Insn casp = arm(0x48207c82); // casp x0, x1, x2, x3, [x4]
    CHECK(casp.effect == Effect::Cas);
    CHECK(casp.reads == (reg(0) | reg(1) | reg(2) | reg(3) | reg(4)));
    CHECK(casp.writes == (reg(0) | reg(1)));
    CHECK(arm(0xc87f0440).writes == (reg(0) | reg(1)));         // ldxp x0, x1, [x2]
    CHECK(arm(0xc8230440).reads == (reg(0) | reg(1) | reg(2))); // stxp w3, x0, x1, [x2]
    CHECK(arm(0xd53b4200).reads == reg(32));                    // mrs x0, nzcv
    CHECK(arm(0xd51b4200).writes == reg(32));                   // msr nzcv, x0
    CHECK(arm(0x3a400824).reads == (reg(1) | reg(32)));         // ccmn w1, #0, #4, eq
    CHECK(arm(0xf9800020).effect == Effect::None);              // prfm pldl1keep, [x1]
    CHECK(arm(0x3dc00020).effect == Effect::Memory);            // ldr q0, [x1]
    CHECK(arm(0xad400420).pair_bytes == 16);                    // ldp q0, q1, [x1]
    CHECK(arm(0x58000040).reads == 0);                          // ldr x0, by the pc
}

TEST_CASE("decode arm: aliases read and write what they should") {
    struct {
        uint32_t word;
        uint64_t reads, writes;
    } const cases[] = {
        {0x7100001f, reg(0), reg(32)},           // cmp w0, #0
        {0x6b00003f, reg(0) | reg(1), reg(32)},  // cmp w1, w0
        {0xeb2063ff, reg(0) | reg(31), reg(32)}, // cmp sp, x0
        {0x3100041f, reg(0), reg(32)},           // cmn w0, #1
        {0x7200001f, reg(0), reg(32)},           // tst w0, #1
        {0x6a01001f, reg(0) | reg(1), reg(32)},  // tst w0, w1
        {0x528000a0, 0, reg(0)},                 // mov w0, #5
        {0x531f7820, reg(1), reg(0)},            // lsl w0, w1, #1
        {0x93407c20, reg(1), reg(0)},            // sxtw x0, w1
        {0xd53be040, 0, reg(0)},                 // mrs x0, cntvct_el0
        {0x72a00020, reg(0), reg(0)},            // movk w0, #1, lsl #16
        {0x2a0103e0, reg(1), reg(0)},            // mov w0, w1
    };
    for (auto [word, reads, writes] : cases) {
        CAPTURE(word);
        CHECK(arm(word).reads == reads);
        CHECK(arm(word).writes == writes);
    }
}

TEST_CASE("decode arm: a copy of a register") {
    CHECK(arm(0xaa0103e0).copies);       // mov x0, x1
    CHECK(arm(0x2a0103e0).copies);       // mov w0, w1
    CHECK_FALSE(arm(0xaa010040).copies); // orr x0, x2, x1
    CHECK_FALSE(arm(0xaa2103e0).copies); // mvn x0, x1
    CHECK_FALSE(arm(0xaa0107e0).copies); // lsl of one, as orr x0, xzr, x1, lsl #1
}

TEST_CASE("decode ppc: reservations, barriers, charges") {
    CHECK(ppc(0x7d201828).effect == Effect::LoadLinked); // lwarx r9,0,r3
    CHECK(ppc(0x7d201828).reads == reg(3));
    Insn store = ppc(0x7d40192d); // stwcx. r10,0,r3
    CHECK(store.effect == Effect::StoreConditional);
    CHECK(store.writes == reg(32));
    CHECK(store.reads == (reg(10) | reg(3)));
    CHECK(ppc(0x7c0004ac).fence == Fence::Hwsync);
    CHECK(ppc(0x7c2004ac).fence == Fence::Lwsync);
    CHECK(ppc(0x4c00012c).fence == Fence::Isync);
    CHECK(ppc(0x7eb5ab78).charge == Charge::Park); // or r21,r21,r21
    CHECK(ppc(0x7f18c378).charge == Charge::Switch);
    CHECK(ppc(0x7f39cb78).charge == Charge::Barrier);
    CHECK(ppc(0x7f5ad378).charge == Charge::Yield);
    CHECK(ppc(0x7e529378).charge == Charge::StopBlocked); // or r18,r18,r18
    CHECK(ppc(0x7e739b78).charge == Charge::StopEnded);
    CHECK(ppc(0x7e318b78).charge == Charge::Count); // or r17,r17,r17
    CHECK(ppc(0x7f7bdb78).effect == Effect::None);  // or r27,r27,r27: yield
}

TEST_CASE("decode ppc: memory and arithmetic") {
    CHECK(ppc(0x81230008).writes == reg(9)); // lwz r9,8(r3)
    CHECK(ppc(0x81230008).latency == Latency::Load);
    Insn update = ppc(0x9421ffe0); // stwu r1,-32(r1)
    CHECK(update.address_writes == reg(1));
    CHECK(update.effect == Effect::Memory);
    CHECK(ppc(0x98830000).reads == (reg(4) | reg(3))); // stb
    CHECK(ppc(0x7ca6382a).reads == (reg(6) | reg(7))); // ldx
    CHECK(ppc(0x7c642a14).reads == (reg(4) | reg(5))); // add
    CHECK(ppc(0x7c642a14).writes == reg(3));
    CHECK(ppc(0x5529063e).reads == reg(9));         // rlwinm
    CHECK(ppc(0x2f890000).writes == reg(32 + 7));   // cmpwi cr7
    CHECK(ppc(0x7c6429d2).latency == Latency::Mul); // mulld
    CHECK(ppc(0x7c642bd2).latency == Latency::Div); // divd
    CHECK(ppc(0x7c832378).writes == reg(3));        // mr r3,r4
    CHECK(ppc(0x60000000).writes == 0);             // nop
}

TEST_CASE("decode ppc: carries and inserts") {
    CHECK(ppc(0x7c6400d0).reads == reg(4));              // neg r3,r4
    CHECK(ppc(0x7c640194).reads == (reg(4) | reg(42)));  // addze r3,r4
    CHECK(ppc(0x7c642810).writes == (reg(3) | reg(42))); // subfc r3,r4,r5
    CHECK(ppc(0x2064000a).writes == (reg(3) | reg(42))); // subfic r3,r4,10
    CHECK(ppc(0x7883000c).reads == (reg(4) | reg(3)));   // rldimi r3,r4,0,0
}

TEST_CASE("decode ppc: condition fields") {
    CHECK(ppc(0x7d310026).reads == reg(35));                        // mfocrf r9,cr3
    CHECK(ppc(0x7c000026).reads == uint64_t(0xff) << 32);           // mfcr r0
    CHECK(ppc(0x7c038120).writes == (reg(34) | reg(35) | reg(36))); // mtcrf 0x38,r0
    CHECK(ppc(0x4d8e0000).writes == reg(35));                       // mcrf cr3,cr3
    CHECK(ppc(0x7c830670).writes == (reg(3) | reg(42)));            // srawi r3,r4,0 sets the carry
}

TEST_CASE("decode ppc: branches") {
    CHECK(ppc(0x409e0000).branch == Branch::Conditional);
    CHECK(ppc(0x409e0000).reads == reg(32 + 7));
    CHECK(ppc(0x42000000).branch == Branch::Conditional); // bdnz
    CHECK(ppc(0x4e800020).branch == Branch::Return);
    CHECK(ppc(0x4d820020).branch == Branch::ConditionalReturn);
    CHECK(ppc(0x48000001).branch == Branch::Call);
    CHECK(ppc(0x48000000).branch == Branch::Direct);
    CHECK(ppc(0x4e800421).branch == Branch::IndirectCall);
}
