import type { Json } from '../../../model/json.ts'
import { type Losses, matters } from '../../shared/losses.ts'

export function loseToolFields(tool: Json, losses: Losses): void {
  for (const name of ['input_examples', 'defer_loading', 'allowed_callers'])
    if (matters(tool[name])) losses.add(`tools.${name}`)
}
