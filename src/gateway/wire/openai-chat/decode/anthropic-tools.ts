import type { CanonicalRequest } from '../../../model/canonical-request.ts'
import { compact, isObject, isWord, type Json } from '../../../model/json.ts'

/** No OpenAI tool has `input_schema`. */
export const isAnthropicTool = (tool: Json): boolean =>
  isObject(tool['input_schema']) &&
  isWord(tool['name']) &&
  (tool['type'] == null || tool['type'] === 'custom' || tool['type'] === 'function') &&
  tool['parameters'] == null &&
  tool['function'] == null &&
  tool['custom'] == null

type Choice = Pick<CanonicalRequest, 'tool_choice' | 'parallel_tool_calls'>

const choices: Record<string, 'auto' | 'required' | 'none'> = { auto: 'auto', any: 'required', none: 'none' }

export function anthropicChoice({ type, name, disable_parallel_tool_use: one }: Json): Choice | null {
  const choice =
    type === 'tool' && isWord(name)
      ? { name }
      : typeof type === 'string' && Object.hasOwn(choices, type)
        ? choices[type]
        : undefined
  return choice === undefined
    ? null
    : compact({ tool_choice: choice, parallel_tool_calls: one === true ? false : undefined })
}
