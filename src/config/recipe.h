#pragma once
#include <string>
#include <vector>

#include "config/builtin_configs.h"
#include "config/node.h"

namespace tessera {

// Note [Recipes]
// A recipe is a config that says how long and how to train, and nothing of data, model, batch and learning rate: those belong
// to the experiment it is laid over. `recipe: NAME` in a file or `recipe=NAME` on the command line names one of
// configs/recipes/, or a file (a word with '/' or the ending of one; relative to the file that names it). Its values lie over
// all that the place which names it builds on, and under what that place says itself, as if it were the last of that place's
// bases:
//
//   default < base files < recipe named in the config < the config's own values < recipe=NAME < key=value
//
// One recipe at a time: the one that is named last, `none` for no one. Entries of `where:` are laid over the rest where
// the experiment, as it would be without the recipe, has the values of `if`:
//
//   where:
//     - if: {optimizer.type: sgd}
//       set: {optimizer: {type: decoupled_sgd}}
//
// `auto` is a recipe that is made for the data and the device at hand (data/check/auto_recipe.h). It is made by who has both,
// and given to those that lay it.
//
// What comes out is one config of values, all that a run keeps: no run needs the recipe again.

inline constexpr const char* kRecipeHelp =
    "how to train: mild, medium, hot, auto or a file of one's own (docs/recipes.md, `tessera recipe show`); a recipe lies over "
    "the "
    "bases of the config that names it and under that config's own values; on the command line over the whole config and under "
    "the other key=value words; a run keeps the values, not the name";

// The recipes of configs/recipes/, in the order of names; and what they are called.
std::vector<const EmbeddedFile*> builtin_recipes();
std::string recipe_name(const EmbeddedFile& recipe);

// Lays the recipe that `config` or the words name, and then the words, over it. made: what `auto` stands for; null where there
// is none. Throws UsageError.
void apply_words(Node& config, const std::vector<std::string>& words, const Node* made = nullptr);

// What the recipe says for an experiment that is `plain` without it: every value with its origin in the recipe.
Node recipe_values(const std::string& name, const Node& plain);

// The comment on a value's line of its file, which in recipes says why; else those of the lines above it; "" where there is
// none.
std::string comment_at(const Origin& origin);

}  // namespace tessera
