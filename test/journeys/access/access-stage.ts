import type { Person } from '../../server.ts'
import type { Kind, Place, Role, Thing, Workspace, World } from './access-rules.ts'
import type { Step } from './access-steps.ts'

export const whole = (role: Role): Place => ({ role, permissions: null })

/** The people, and the world as it must be after the steps so far. */
export class Stage {
  readonly people: readonly Person[]
  readonly world: World = { workspaces: [], things: new Map(), shares: [] }
  sentMessages = 0

  constructor(people: readonly Person[]) {
    this.people = people
  }

  workspace(n: number): Workspace {
    const { workspaces } = this.world
    return workspaces[n % workspaces.length]!
  }

  thing(n: number, kind?: Kind): Thing | null {
    const all = [...this.world.things.values()].filter((thing) => kind === undefined || thing.kind === kind)
    return all[n % Math.max(1, all.length)] ?? null
  }

  add(id: string, kind: Kind, workspace: Workspace, more: Partial<Thing>): void {
    this.world.things.set(id, {
      id,
      kind,
      workspace,
      status: 'active',
      from: 'active',
      agent: null,
      messages: [],
      head: null,
      ...more,
    })
  }

  put(thing: Thing, how: Extract<Step, { do: 'put' }>['how']): void {
    if (how === 'permanent-delete') this.forget(thing)
    else if (how === 'restore') thing.status = thing.status === 'trashed' ? thing.from : thing.status
    else if (how !== 'trash') thing.status = how === 'archive' ? 'archived' : 'active'
    else if (thing.status !== 'trashed') {
      thing.from = thing.status
      thing.status = 'trashed'
    }
  }

  drop(workspace: Workspace): void {
    const world = this.world
    world.workspaces = world.workspaces.filter((other) => other !== workspace)
    for (const thing of world.things.values()) if (thing.workspace === workspace) this.forget(thing)
    world.shares = world.shares.filter(({ to }) => to !== workspace)
  }

  forget(thing: Thing): void {
    this.world.things.delete(thing.id)
    this.world.shares = this.world.shares.filter((share) => share.thing !== thing)
  }
}
