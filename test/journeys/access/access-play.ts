/** People who take steps on a server, and the world as it must be after each step. */
import assert from 'node:assert/strict'
import type { Person } from '../../server.ts'
import { compare } from './access-looks.ts'
import { outcomeOf } from './access-outcomes.ts'
import type { Who } from './access-rules.ts'
import { Stage, whole } from './access-stage.ts'
import type { Step } from './access-steps.ts'

export class Play {
  readonly #stage: Stage

  constructor(people: readonly Person[]) {
    this.#stage = new Stage(people)
    for (const [i, { workspaceId }] of people.entries())
      this.#stage.world.workspaces.push({
        id: workspaceId,
        personal: true,
        archived: false,
        members: new Map([[i, whole('owner')]]),
      })
  }

  /** A team of three with an agent and a chat, and another team whose owner has that chat by a share. */
  async begin(): Promise<void> {
    const [team, other] = [this.#stage.people.length, this.#stage.people.length + 1]
    for (const one of [
      { by: 0, do: 'workspace' },
      { by: 3, do: 'workspace' },
      { by: 0, do: 'invite', at: team, who: 1, place: whole('member') },
      { by: 0, do: 'invite', at: team, who: 2, place: whole('viewer') },
      { by: 3, do: 'invite', at: other, who: 1, place: whole('member') },
      { by: 1, do: 'make', at: team, kind: 'chat', agent: null },
      { by: 1, do: 'make', at: team, kind: 'agent', agent: null },
      { by: 1, do: 'share', of: 0, to: { who: 3 }, access: 'edit' },
    ] satisfies Step[])
      await this.step(one)
  }

  async end(): Promise<void> {
    for (const workspace of this.#stage.world.workspaces.filter(({ personal }) => !personal)) {
      const [owner] = [...workspace.members].find(
        ([, { role, permissions }]) => role === 'owner' && permissions === null,
      ) ?? [0]
      await this.#stage.people[owner]!.delete(`/workspaces/${workspace.id}?confirm=Team`)
    }
  }

  async step(one: Step): Promise<void> {
    const { status, expected, done } = await outcomeOf(this.#stage, one)
    assert.equal(
      status.status,
      expected.status === 0 ? expected.ok : expected.status,
      `${JSON.stringify(one)} ${status.text}`,
    )
    if (expected.status === 0) await done?.(status)
  }

  /** Everyone looks at everything by its ID. `listers` also look at their lists. */
  compare(listers: readonly Who[]): Promise<{ seen: number; hidden: number }> {
    return compare(this.#stage.people, this.#stage.world, listers)
  }
}
