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

const servingNames =
  'model stream stream_options include_usage messages input background store modalities extra_body'.split(' ')

/** All names the gateway bases a decision on. Each list comes from the module that decides by it. */
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

/** Names whose contents are the user's own at any depth, and aren't checked. */
export const ownData: ReadonlySet<string> = new Set(dataNames)

/** Names whose object has user-chosen names but checked values: variables of a stored prompt. */
export const ownNames: ReadonlySet<string> = new Set(['variables'])
