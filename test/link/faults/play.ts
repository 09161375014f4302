import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../until.ts'
import { type Command, inBackground, inForeground } from './commands.ts'
import { uploaded } from './files.ts'
import { type Scene, startScene } from './scene.ts'
import { ScreenViewer, InputRecorder } from './terminals.ts'

/** Faults and their weights. */
const FAULTS = {
  server: 12,
  daemon: 20,
  keeper: 10,
  cut: 25,
  stall: 10,
  delay: 12,
  move: 10,
  /** Half-open until noticed. */
  silence: 1,
} as const
type Fault = keyof typeof FAULTS

export interface Played {
  rounds: number
  faults: Record<string, number>
  commands: Record<string, number>
  uploads: number
  upload_calls: number
  screens: number
  gaps: number
  typed: number
  lost_terminals: number
}

const between = (least: number, most: number): number => least + Math.random() * (most - least)

function pick(): Fault {
  let remainingWeight = Math.random() * Object.values(FAULTS).reduce((sum, weight) => sum + weight, 0)
  for (const [fault, weight] of Object.entries(FAULTS)) if ((remainingWeight -= weight) < 0) return fault as Fault
  return 'cut'
}

async function befall(scene: Scene, fault: Fault): Promise<void> {
  const { network, machine } = scene
  if (fault === 'server') return scene.killServer()
  if (fault === 'keeper') scene.keepersKilled++
  if (fault === 'keeper' || fault === 'daemon') return machine.kill(fault)
  if (fault === 'move') return scene.move()
  if (fault === 'cut') return network.cut()
  if (fault === 'delay') {
    network.delay(between(10, 200))
    await sleep(between(200, 1_000))
    return network.delay(0)
  }
  if (fault === 'silence') {
    network.stall('now')
    return
  }
  network.stall(Math.random() < 0.5 ? 'now' : 'all')
  await sleep(between(100, 2_000))
  network.open()
  network.cut()
}

/** Injects random faults into servers, machine and network under load, and checks every reported result. */
export async function playFaults(rounds: number): Promise<Played> {
  await using scene = await startScene()
  const ran = join(scene.machine.folder, 'ran')
  writeFileSync(ran, '')
  let isStopped = false
  const stop = (): boolean => isStopped
  const commands: Command[] = []
  const played: Played = {
    rounds,
    faults: Object.fromEntries(Object.keys(FAULTS).map((fault) => [fault, 0])),
    commands: { ended: 0, lost: 0, refused: 0, unknown: 0 },
    uploads: 0,
    upload_calls: 0,
    screens: 0,
    gaps: 0,
    typed: 0,
    lost_terminals: 0,
  }
  let count = 0
  const runs = async (run: typeof inBackground): Promise<void> => {
    while (!stop()) {
      const command = await run(scene, count++, ran)
      commands.push(command)
      played.commands[command.end]!++
      if (command.end === 'refused' || command.end === 'unknown') await sleep(200)
    }
  }
  const sends = async (): Promise<void> => {
    for (let at = 0; !stop(); at++) {
      played.upload_calls += await uploaded(scene, at)
      played.uploads++
      await sleep(200)
    }
  }
  const types = async (): Promise<void> => {
    for (let at = 0; !stop(); at++) {
      const recorder = await InputRecorder.open(scene, at)
      await recorder.types(stop)
      played.typed += await recorder.check()
      recorder.leave()
    }
  }
  const looks = async (): Promise<void> => {
    while (!stop()) {
      const viewer = await ScreenViewer.open(scene)
      while (!viewer.over && !stop()) {
        await sleep(500)
        if (await viewer.isTrue()) played.screens++
      }
      if (!viewer.over) {
        await until(
          () => viewer.isTrue(),
          (isEqual) => isEqual === true || viewer.over,
        )
        played.screens++
      } else played.lost_terminals++
      played.gaps += viewer.gaps
      viewer.leave()
    }
  }
  const load = Promise.all([runs(inBackground), runs(inBackground), runs(inForeground), sends(), types(), looks()])
  load.catch(() => (isStopped = true))
  for (let round = 0; round < rounds && !stop(); round++) {
    await sleep(between(100, 1_200))
    const fault = pick()
    played.faults[fault]!++
    await befall(scene, fault)
  }
  isStopped = true
  await load

  const lines = readFileSync(ran, 'utf8').trim().split('\n')
  assert.equal(new Set(lines).size, lines.length, 'nothing ran twice')
  for (const { key, end } of commands) {
    if (end === 'ended') assert.ok(lines.includes(key), `${key} ended, and never ran`)
    if (end === 'refused') assert.ok(!lines.includes(key), `${key} was refused, and ran`)
  }
  await closeTerminals(scene)
  // Commands of dead servers end here; nothing else is left.
  await until(
    async () => scene.machine.others(),
    (processes) => processes.length === 0,
  )
  return played
}

async function closeTerminals(scene: Scene): Promise<void> {
  for (;;) {
    const open = await openTerminals(scene)
    if (open?.length === 0) return
    for (const terminal_id of open ?? [])
      await scene.ask('POST', '/terminal', { action: 'close', terminal_id, signal: 'SIGKILL' })
    await sleep(100)
  }
}

/** Reads all pages, because lost terminals may exceed one. Null: the list couldn't be read. */
async function openTerminals(scene: Scene): Promise<string[] | null> {
  const all: { terminal_id: string; status: string }[] = []
  for (let cursor: string | null = null; ;) {
    const from = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const answer = await scene.ask('POST', `/terminal?limit=100${from}`, { action: 'list' })
    if (answer === null || answer.status !== 200) {
      assert.ok(answer === null || answer.status >= 500 || answer.status === 409, JSON.stringify(answer))
      return null
    }
    all.push(...answer.data)
    if (answer.next === null) return all.flatMap(({ terminal_id, status }) => (status === 'open' ? terminal_id : []))
    cursor = answer.next
  }
}
