from gradrank.cli import main

main()
