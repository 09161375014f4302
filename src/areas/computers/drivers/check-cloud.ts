import { refuse } from '#kernel/errors.ts'
import type { ComputerRow } from '../store.ts'

/** `verb`: `started`. */
export function checkCloud({ kind }: ComputerRow, verb: string): void {
  if (kind !== 'cloud')
    refuse('not_supported', {
      message: `A paired machine is not ${verb} from here: its owner does that on the machine itself.`,
    })
}
