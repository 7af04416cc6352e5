// The default theme with the fonts of the system, which are there without a network.
import DefaultTheme from 'vitepress/theme-without-fonts'
import './style.css'

export default DefaultTheme
