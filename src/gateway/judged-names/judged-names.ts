import { costNames } from '../call/money/cost-names.ts'
import { lookupNames, vendorToolNames } from '../call/money/vendor-tools.ts'
import { adaptedNames } from '../passthrough/adapted-body.ts'
import { anthropicMessages } from '../passthrough/formats/anthropic-messages.ts'
import { openaiChat } from '../passthrough/formats/openai-chat.ts'
import { openaiResponses } from '../passthrough/formats/openai-responses.ts'
import { priceNames } from '../providers/supports.ts'
import { preferenceNames } from '../routing/preferences.ts'
import { dataNames, referenceNames } from '../stored-references/find.ts'
import { routingNames } from '../surfaces/compat-c/demands.ts'
import { mediaNames } from '../surfaces/compat-a/media/read-fields.ts'

/** Fields that decide how a call is served, by every surface. */
const servingNames =
  'model stream stream_options include_usage messages input background store modalities extra_body'.split(' ')

/**
 * Every name that the gateway bases a decision on: which model answers, what the call may cost, where it goes and what it
 * reads at a provider. Each list comes from the module that decides by it.
 */
export const judgedNames: ReadonlySet<string> = new Set([
  ...servingNames,
  ...openaiChat.limitFields,
  ...openaiResponses.limitFields,
  ...anthropicMessages.limitFields,
  ...costNames,
  ...priceNames,
  ...lookupNames,
  ...vendorToolNames,
  ...adaptedNames,
  ...routingNames,
  ...preferenceNames,
  ...referenceNames,
  ...mediaNames,
])

/**
 * Names whose object holds names of the user's own choosing at any depth: schemas, arguments, metadata, headers and
 * environment variables. Nothing in them is judged.
 */
export const ownData: ReadonlySet<string> = new Set(dataNames)

/** Names whose object has names of the user's own choosing, with values that are judged: variables of a stored prompt. */
export const ownNames: ReadonlySet<string> = new Set(['variables'])
