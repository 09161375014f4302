import { lazy } from 'react'
import { Later } from '../../ui/later.tsx'
import { useWorkspace } from '../../shared/workspace.ts'
import { Here, type Words, switcherClass } from './here.tsx'

const load = () => import('./switcher-menu.tsx')
const SwitcherMenu = lazy(load)

export function Switcher({ words }: { words: Words }) {
  const current = useWorkspace()
  return (
    <Later
      load={load}
      className={switcherClass}
      title={current?.name}
      content={<Here words={words} name={current?.name} />}
    >
      <SwitcherMenu words={words} />
    </Later>
  )
}
