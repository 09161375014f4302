import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDir } from '#test/program.ts'
import { type Step, isHeld, takeLock, lockSteps } from './lock.ts'

const LOCK = 'lock'

/** A process that takes a lock one step at a time. */
interface Taker {
  name: string
  steps: ReturnType<typeof lockSteps>
  next: Step | null
  took: boolean
  alive: boolean
}

/** A seeded pseudorandom generator. */
function drawOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/**
 * Plays one order of steps, exits and releases of several processes that compete for an abandoned lock. Returns the
 * counts.
 */
function play(seed: number): { steps: number; holders: number; leftovers: number } {
  const draw = drawOf(seed)
  const disk = new Map<string, string>(draw(4) === 0 ? [] : [[LOCK, 'gone 1']])
  const takers: Taker[] = []
  const isAlive = (name: string): boolean => takers.some((one) => one.name === name && one.alive)
  const come = (): void => {
    const name = `taker ${takers.length}`
    const fresh = `${LOCK}.${takers.length}`
    disk.set(fresh, name)
    const steps = lockSteps(LOCK, fresh, isAlive)
    takers.push({ name, steps, next: steps.next().value as Step, took: false, alive: true })
  }
  const doStep = (step: Step): unknown => {
    if (step.do === 'read') return disk.get(step.path) ?? null
    if (step.do === 'remove') return void disk.delete(step.path)
    if (step.do === 'link') {
      if (disk.has(step.to)) return false
      disk.set(step.to, disk.get(step.from)!)
      return true
    }
    disk.set(step.to, disk.get(step.from)!)
    disk.delete(step.from)
  }
  let steps = 0
  let holders = 0
  let stepsLeft = 3 + draw(4)
  while (stepsLeft > 0 || takers.some(({ next, alive }) => next !== null && alive)) {
    const running = takers.filter(({ next, alive }) => next !== null && alive)
    if (stepsLeft > 0 && (running.length === 0 || draw(4) === 0)) {
      stepsLeft--
      come()
      continue
    }
    const one = running[draw(running.length)]!
    if (draw(25) === 0) {
      one.alive = false
      continue
    }
    assert.ok(++steps < 1_000, 'it comes to an end')
    const result = one.steps.next(doStep(one.next!))
    one.next = result.done ? null : result.value
    if (!result.done) continue
    one.took = result.value.taken
    if (one.took) holders++
    const living = takers.filter(({ took, alive }) => took && alive)
    assert.ok(living.length <= 1, `seed ${seed}: ${living.map(({ name }) => name).join(' and ')} have it`)
    // The holder exits or releases the lock.
    if (one.took && draw(2) === 0) {
      one.alive = false
      if (draw(2) === 0 && disk.get(LOCK) === one.name) disk.delete(LOCK)
    }
  }
  // A process that arrives last gets the lock, unless a live one holds it.
  const free = !takers.some(({ took, alive }) => took && alive)
  come()
  const last = takers.at(-1)!
  while (last.next !== null) {
    const result = last.steps.next(doStep(last.next))
    last.next = result.done ? null : result.value
    if (result.done) assert.equal(result.value.taken, free, `seed ${seed}`)
  }
  return { steps, holders, leftovers: disk.size }
}

test('processes competing for an abandoned lock hold it one at a time, in any order of steps, exits and releases', (context) => {
  const all = Array.from({ length: 20_000 }, (_, seed) => play(seed + 1))
  const sum = (of: (one: ReturnType<typeof play>) => number): number => all.reduce((total, one) => total + of(one), 0)
  context.diagnostic(
    JSON.stringify({ orders: all.length, steps: sum((one) => one.steps), holders: sum((one) => one.holders) }),
  )
  assert.ok(sum(({ holders }) => holders) > all.length)
})

test('of many processes competing for an abandoned lock one gets it, and no files are left behind', () => {
  using folder = temporaryDir('lock-')
  const file = join(folder.path, 'lock')
  using beside = temporaryDir('lock-takers-')
  // All start together, and none exits before all have tried.
  const program = `import { readdirSync, writeFileSync } from 'node:fs'
    import { takeLock } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))}
    const [round] = process.argv.slice(1)
    const all = (step) => {
      writeFileSync(${JSON.stringify(beside.path)} + '/' + [round, step, process.pid].join(' '), '')
      while (readdirSync(${JSON.stringify(beside.path)}).filter((name) => name.startsWith(round + ' ' + step)).length < 4);
    }
    all('began')
    process.stdout.write(takeLock(${JSON.stringify(file)}) === null ? '-' : '+')
    all('tried')`
  for (const [round, dead] of ['1 0 another-boot', `${process.pid} 1`, '', 'no name'].entries()) {
    writeFileSync(file, dead)
    const run = `for i in 1 2 3 4; do "$0" --input-type=module -e "$1" "$2" & done; wait`
    const output = execFileSync('sh', ['-c', run, process.execPath, program, String(round)])
    assert.equal([...String(output)].toSorted().join(''), '+---', JSON.stringify(dead))
    assert.equal(isHeld(file), false, 'it died with its holder')
    assert.deepEqual(readdirSync(folder.path), ['lock'])
  }
})

test('a process can take its own lock again only with `again`, and releases it once', () => {
  using folder = temporaryDir('lock-')
  const file = join(folder.path, 'lock')
  {
    using lock = takeLock(file)
    assert.notEqual(lock, null)
    assert.equal(takeLock(file), null)
    assert.notEqual(takeLock(file, { again: true }), null)
    // As an earlier version wrote it.
    writeFileSync(file, readFileSync(file, 'utf8').split(' ').slice(0, 2).join(' '))
    assert.equal(takeLock(file), null)
    assert.notEqual(takeLock(file, { again: true }), null)
  }
  assert.deepEqual(readdirSync(folder.path), [])
})
