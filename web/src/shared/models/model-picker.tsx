import { lazy } from 'react'
import { Later } from '../../ui/later.tsx'
import { Picked, type PickerProps, pickerClass } from './picked.tsx'

const load = () => import('./model-list.tsx')
const ModelList = lazy(load)

export function ModelPicker(props: PickerProps) {
  return (
    <Later load={load} popup="dialog" className={pickerClass} content={<Picked {...props} />}>
      <ModelList {...props} />
    </Later>
  )
}
