import type { Computer } from './queries.ts'
import type { Part } from './words.ts'

/** The state of a computer's page: folder or terminal. */
export const placeIn = ({ path, terminal }: Record<string, unknown>): { path?: string; terminal?: string } => ({
  ...(typeof path === 'string' && { path }),
  ...(typeof terminal === 'string' && { terminal }),
})

/** The first tab that the person can use, even if the machine is offline. */
export const firstPartOf = ({ my_capabilities: lent }: Pick<Computer, 'my_capabilities'>): Part =>
  lent.includes('terminal')
    ? 'terminal'
    : lent.includes('fs_read')
      ? 'files'
      : lent.includes('inference')
        ? 'models'
        : 'settings'
