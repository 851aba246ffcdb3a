#include "client/alike.h"

#include <algorithm>

namespace prove {

NodeId Alike::representative(NodeId node) {
    if (changed_ || gives_up_)
        return node;
    PlaceId place = place_of(node);
    check_new_nodes();
    return changed_ ? node : places_[place].nodes.front();
}

NodeId Alike::follow(NodeId representative, uint64_t answer) {
    if (changed_)
        return representative;
    if (gives_up_)
        return automaton_.step(representative, answer);
    PlaceId to = follow_class(place_of(representative), answer);
    return changed_ ? representative : places_[to].nodes.front();
}

Alike::PlaceId Alike::follow_class(PlaceId place, uint64_t answer) {
    for (const Followed &known : places_[place].followed) {
        if (known.answer == answer)
            return known.to;
    }
    Followed followed{answer, place_of(automaton_.step(places_[place].nodes.front(), answer))};
    places_[place].followed.push_back(followed);
    for (size_t i = 1; i < places_[place].nodes.size() && !changed_; i++)
        check(place, places_[place].nodes[i], followed);
    check_new_nodes();
    return followed.to;
}

// The class of a node; one that was not known yet joins it.
Alike::PlaceId Alike::place_of(NodeId node) {
    if (node >= place_of_.size())
        place_of_.resize(node + 1, kNone);
    if (place_of_[node] != kNone)
        return place_of_[node];
    PlaceId at = 0;
    do {
        Hash key = at == 0 ? automaton_.asks(node) : outcome(node, places_[at].word);
        auto [below, is_new] =
            places_[at].below.try_emplace(key, static_cast<PlaceId>(places_.size()));
        PlaceId next = below->second;
        if (is_new) {
            places_.emplace_back();
            places_.back().above = at;
        }
        at = next;
    } while (places_[at].is_fork);
    place_of_[node] = at;
    places_[at].nodes.push_back(node);
    new_nodes_.push_back(node);
    return at;
}

Hash Alike::outcome(NodeId node, const std::vector<uint64_t> &word) {
    for (uint64_t answer : word) {
        if (automaton_.ends(node))
            break;
        node = automaton_.step(node, answer);
        steps_++;
    }
    return automaton_.asks(node);
}

void Alike::check_new_nodes() {
    while (!new_nodes_.empty() && !changed_) {
        NodeId node = new_nodes_.back();
        new_nodes_.pop_back();
        changed_ = gives_up_ = place_of_.size() > most_.nodes || steps_ > most_.steps;
        PlaceId place = place_of_[node];
        for (size_t i = 0; i < places_[place].followed.size() && !changed_; i++)
            check(place, node, Followed(places_[place].followed[i]));
    }
}

// A node must come to the class that its own class comes to; else the two are told apart.
void Alike::check(PlaceId place, NodeId node, const Followed &followed) {
    PlaceId found = place_of(automaton_.step(node, followed.answer));
    if (found == followed.to)
        return;
    std::vector<uint64_t> word = word_between(found, followed.to);
    word.insert(word.begin(), followed.answer);
    places_[place].is_fork = true;
    places_[place].word = std::move(word);
    changed_ = true;
}

// What tells two classes apart: the word of the last fork above both.
std::vector<uint64_t> Alike::word_between(PlaceId one, PlaceId other) const {
    std::vector<PlaceId> above;
    for (PlaceId at = one; at != kNone; at = places_[at].above)
        above.push_back(at);
    while (std::ranges::find(above, other) == above.end())
        other = places_[other].above;
    return places_[other].word;
}

// What was followed so far is followed again, since most of what it needs apart shows by that.
void Alike::settle() {
    if (gives_up_) {
        places_.assign(1, {});
        changed_ = false;
        return;
    }
    std::vector<std::pair<NodeId, uint64_t>> again;
    for (const Place &place : places_) {
        for (const Followed &followed : place.followed)
            again.emplace_back(place.nodes.front(), followed.answer);
    }
    do {
        changed_ = false;
        new_nodes_.clear();
        std::ranges::fill(place_of_, kNone);
        for (Place &place : places_) {
            place.nodes.clear();
            place.followed.clear();
        }
        for (size_t i = 0; i < again.size() && !changed_; i++) {
            PlaceId place = place_of(again[i].first);
            check_new_nodes();
            if (!changed_)
                follow_class(place, again[i].second);
        }
    } while (changed_ && !gives_up_);
    changed_ = false;
}

size_t Alike::classes() const {
    return static_cast<size_t>(
        std::ranges::count_if(places_, [](const Place &place) { return !place.nodes.empty(); }));
}

} // namespace prove
