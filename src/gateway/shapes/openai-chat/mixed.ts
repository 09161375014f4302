import type { Json } from '../json.ts'
import { hasAnthropicParts } from './anthropic-parts.ts'
import { hasFlatTools } from './decode-tools.ts'

/** Whether a chat holds what is written as another API has it: a server of this shape would refuse the client's own bytes. */
export const isMixed = (json: Json): boolean => hasFlatTools(json) || hasAnthropicParts(json)
