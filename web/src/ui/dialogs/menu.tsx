import { lazy } from 'react'
import { Icon } from '../icons.tsx'
import { Later } from '../later.tsx'
import { type ActionsProps, triggerClass } from './actions.ts'

export type { Action } from './actions.ts'

const load = () => import('./menu-list.tsx')
const MenuList = lazy(load)

export function Actions(props: ActionsProps) {
  const { label, trigger, tabIndex } = props
  return (
    <Later
      load={load}
      aria-label={label}
      tabIndex={tabIndex}
      className={triggerClass(trigger)}
      content={trigger ?? <Icon name="more" />}
    >
      <MenuList {...props} />
    </Later>
  )
}
