# What holds for the tree as a whole.
add_test(NAME tree.layers COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/layers.sh)
add_test(NAME tree.layers_finds COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/lint/layers_test.sh)
# README.md names only tests that exist, and what shows that each router does what it should.
add_test(NAME tree.readme COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/lint/readme_test.sh)
# What the documents tell people to write is taken, and no link goes nowhere.
add_test(NAME tree.docs COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/lint/docs_test.sh)
add_test(NAME tree.docs_finds COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/lint/docs_finds_test.sh)
set_tests_properties(tree.layers tree.layers_finds tree.readme tree.docs tree.docs_finds
	PROPERTIES LABELS unit TIMEOUT 120)

# Builds everything once more in a folder with a space in its name.
scene_test(install HEAVY TIMEOUT 300)

# What ./run demo shows.
add_test(NAME scene.demo COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/demo.sh)
set_tests_properties(scene.demo PROPERTIES LABELS "scene;heavy" TIMEOUT 120)
