import type { Target } from '../../shared/target.ts'

/**
 * From the `compat` and `thinkingLevelMap` data of @earendil-works/pi-ai 1.5.2 (2026-11-10). An unlisted Claude counts
 * as current; any other unlisted model as the older kind, which most vendors that adopted the shape follow.
 */
export interface Quirks {
  adaptive: boolean
  noSampling: boolean
  midSystem: boolean
  alwaysThinks: boolean
  xhigh: boolean
  strictTools: boolean
}

const budgetModels =
  /claude-(2|3|instant)|claude-(opus|sonnet)-4(-0|-1|-5)?(?!-?\d)|claude-(opus|sonnet)-4-(1|5)?-?20\d{6}|claude-haiku-4/
const noSampling = /claude-(opus-4-[78]|opus-5|sonnet-5|haiku-5)/
const midSystem = /claude-(fable-5|haiku-5-5|opus-4-8|opus-5|sonnet-5-5)/
const alwaysThinks = /claude-(fable-5|opus-5-5|sonnet-5-5)/
const withoutXhigh = /claude-(opus|sonnet)-4-6/
const withoutStrict = /claude-(2|3|instant)|claude-(opus|sonnet)-4(-0|-1)?(?!-?\d)|claude-(opus|sonnet)-4-(1-)?20\d{6}/

export function quirksOf({ model, provider }: Target): Quirks {
  const name = model.toLowerCase().replaceAll('.', '-')
  const claude = name.includes('claude')
  return {
    adaptive: claude ? !budgetModels.test(name) : provider?.adaptiveThinking === true,
    noSampling: noSampling.test(name),
    midSystem: midSystem.test(name),
    alwaysThinks: alwaysThinks.test(name),
    xhigh: claude && !withoutXhigh.test(name),
    strictTools: claude && !withoutStrict.test(name),
  }
}
