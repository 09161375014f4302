/** The steps that the people of the model of access may take, drawn at random. */
import fc from 'fast-check'
import type { Kind, Place, Role, Who } from './access-rules.ts'

export const NAMES = ['Alice', 'Bob', 'Carol', 'Dave']

/** A step that one of them takes; numbers name one of what there is by then. */
export type Step = { by: Who } & (
  | { do: 'workspace' }
  | { do: 'invite'; at: number; who: Who; place: Place }
  | { do: 'remove'; at: number; who: Who }
  | { do: 'keep'; at: number; how: 'archive' | 'unarchive' | 'delete' }
  | { do: 'make'; at: number; kind: Kind; agent: number | null }
  | { do: 'send'; of: number; parent: number | null }
  | { do: 'copy'; of: number; at: number; how: 'copy' | 'fork' }
  | { do: 'adopt'; of: number; agent: number }
  | { do: 'move'; of: number; at: number }
  | { do: 'rename'; of: number }
  | { do: 'put'; of: number; how: 'archive' | 'unarchive' | 'trash' | 'restore' | 'permanent-delete' }
  | { do: 'share'; of: number; to: { who: Who } | { at: number }; access: 'view' | 'edit' }
  | { do: 'unshare'; share: number }
)

const which = fc.nat(30)
const who = fc.nat(NAMES.length - 1)
const permissions = fc.constantFrom(
  null,
  null,
  null,
  ['chat:write', 'chat:run', 'agent:read', 'workspace:read'],
  ['agent:write', 'share:read', 'workspace:read'],
  ['chat:read', 'share:write', 'member:write'],
)
const place: fc.Arbitrary<Place> = fc.record({
  role: fc.constantFrom<Role>('viewer', 'member', 'member', 'admin', 'owner'),
  permissions,
})
const step = (weight: number, name: Step['do'], rest: Record<string, fc.Arbitrary<unknown>>) => ({
  weight,
  arbitrary: fc.record({ by: who, do: fc.constant(name), ...rest }) as unknown as fc.Arbitrary<Step>,
})
export const steps: fc.Arbitrary<Step> = fc.oneof(
  step(1, 'workspace', {}),
  step(4, 'invite', { at: which, who, place }),
  step(2, 'remove', { at: which, who }),
  step(2, 'keep', { at: which, how: fc.constantFrom('archive', 'unarchive', 'unarchive', 'delete') }),
  step(4, 'make', { at: which, kind: fc.constantFrom('chat', 'chat', 'agent'), agent: fc.option(which) }),
  step(3, 'send', { of: which, parent: fc.option(which) }),
  step(3, 'copy', { of: which, at: which, how: fc.constantFrom('copy', 'fork') }),
  step(1, 'adopt', { of: which, agent: which }),
  step(1, 'move', { of: which, at: which }),
  step(1, 'rename', { of: which }),
  step(4, 'put', {
    of: which,
    how: fc.constantFrom('archive', 'unarchive', 'trash', 'trash', 'restore', 'permanent-delete'),
  }),
  step(5, 'share', {
    of: which,
    to: fc.oneof(fc.record({ who }), fc.record({ at: which })),
    access: fc.constantFrom('view', 'edit'),
  }),
  step(1, 'unshare', { share: which }),
)
