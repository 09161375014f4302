import type { Target } from '../shared/target.ts'

/**
 * From the `thinkingLevelMap` data of @earendil-works/pi-ai 1.5.2 (2026-11-10) and
 * https://ai.google.dev/gemini-api/docs/thinking (2026-11). A model without a known version number counts as current.
 */
export interface Quirks {
  /** Supported thinking levels; null: thinking takes a budget of tokens. */
  levels: readonly ('minimal' | 'low' | 'medium' | 'high')[] | null
  /** Minimum thinking budget; 0: thinking can be turned off. */
  leastBudget: number
  mostBudget: number
  signedCalls: boolean
  schemaWithTools: boolean
}

/** Google's placeholder for a call without a signature, which skips the check. */
export const NO_SIGNATURE = 'skip_thought_signature_validator'

const older = /gemini-(1|2)(\.\d)?-|gemini-(1|2)\.\d$/
/** pi-ai 1.5.2: these support `minimal`. */
const minimal = /gemini-3(\.[156])?-flash|flash(-lite)?-latest|robotics-er/

export function quirksOf({ model }: Target): Quirks {
  const name = model.toLowerCase()
  if (!older.test(name)) {
    const levels = ['low', 'medium', 'high'] as const
    return {
      levels: minimal.test(name) ? ['minimal', ...levels] : levels,
      leastBudget: 0,
      mostBudget: 0,
      signedCalls: true,
      schemaWithTools: true,
    }
  }
  // 2.5 Pro: 128 to 32,768, never off; 2.5 Flash: up to 24,576; Flash-Lite: off, or from 512.
  const pro = /2\.5-pro/.test(name)
  return {
    levels: null,
    leastBudget: pro ? 128 : 0,
    mostBudget: pro ? 32_768 : 24_576,
    signedCalls: false,
    schemaWithTools: false,
  }
}

/** The small models reject smaller budgets. */
export const MIN_THOUGHT = 512
