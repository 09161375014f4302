import type { Computer } from './queries.ts'
import type { Part } from './words.ts'

/** Where on the page of a computer somebody is: the folder, or the terminal. */
export const placeIn = ({ path, terminal }: Record<string, unknown>): { path?: string; terminal?: string } => ({
  ...(typeof path === 'string' && { path }),
  ...(typeof terminal === 'string' && { terminal }),
})

/** The part that somebody most likely comes for, of those that were lent to them: also of a machine that is not there yet. */
export const firstPartOf = ({ my_capabilities: lent }: Pick<Computer, 'my_capabilities'>): Part =>
  lent.includes('terminal')
    ? 'terminal'
    : lent.includes('fs_read')
      ? 'files'
      : lent.includes('inference')
        ? 'models'
        : 'settings'
