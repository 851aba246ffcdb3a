/* Found before the true one: leaves a thread where the signal found it. */
#ifndef BROKEN_RESTARTABLE_H
#define BROKEN_RESTARTABLE_H

#include "../../../../lockimpl/arch/restartable.h"

#define restartable_repair(context, thread) ((void)(context))

#endif
